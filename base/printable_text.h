#pragma once

#include <string>
#include <string_view>

namespace xylem {

/// `text` from a stranger as one line that a terminal shows and does not obey. These become
/// visible:
///
/// - control characters, those of C1 (U+0080 to U+009F) too: "\n", "\t", "\x1b", "\u009b",
/// - bytes that are not UTF-8: "\xff",
/// - characters that nobody sees or that turn the direction of others, as U+202E: "\u202e".
///
/// All else stays, backslashes too: it is for reading, not for reading back. Text that is printable
/// already stays as it is.
std::string printable(std::string_view text);

}  // namespace xylem
