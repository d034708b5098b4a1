#pragma once

#include <string>
#include <string_view>

namespace xylem {

/// Returns untrusted `text` as one line without terminal control codes. These are escaped:
///
/// - control characters, including C1 (U+0080 to U+009F): "\n", "\t", "\x1b", "\u009b",
/// - bytes that are not UTF-8: "\xff",
/// - characters that change the text direction, such as U+202E, and most invisible characters:
///   "\u202e".
///
/// All other characters stay unchanged, backslashes too. So the result is for people and cannot be
/// parsed back.
std::string printable(std::string_view text);

}  // namespace xylem
