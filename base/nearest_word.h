#pragma once

// "Did you mean": finds the word that a person meant by a mistyped word.

#include <string>
#include <string_view>
#include <vector>

namespace xylem {

/// The word of `words` that is nearest to `typed`; "" if none is near. A typing error is a missing
/// letter, an extra letter, a wrong letter, or two neighbouring letters in the wrong order. A word
/// is near if `typed` has at most one error for every three letters; one error is always allowed.
/// If no word is near by this rule, and exactly one word begins with `typed`, that word is near.
/// For this, `typed` must have at least two letters. If several words are equally near, the first
/// one counts. Words of more than 64 letters are never near.
std::string nearest_word(std::string_view typed, const std::vector<std::string>& words);

/// The end of an error message: " (did you mean WORD?)", or "" if no word is near.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words);

}  // namespace xylem
