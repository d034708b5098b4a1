#pragma once

// "Did you mean": finds the word that a person meant by a mistyped word.

#include <string>
#include <string_view>
#include <vector>

namespace xylem {

/// The word of `words` that is nearest to `typed`; "" if none is near. Typing errors are a letter
/// that is missing, wrong or too many, and two letters in the wrong order. A word is near if a
/// third of the letters of `typed` has errors at most (at least one error is allowed). A word is
/// also near if it is the only one that begins with `typed`, which needs two letters at least. If
/// several words are equally near, the first one counts. Words of more than 64 letters are never
/// near.
std::string nearest_word(std::string_view typed, const std::vector<std::string>& words);

/// The end of an error message: " (did you mean WORD?)", or "" if no word is near.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words);

}  // namespace xylem
