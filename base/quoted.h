#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xylem {

/// The beginning of what came, in single quotes, without bytes that would spoil a line of text: for
/// sentences that say what is wrong.
std::string quoted(std::string_view text);

/// What a POSIX shell reads as this very text, in single quotes.
std::string shell_quoted(std::string_view text);

/// A command line that a POSIX shell would read back as the same words; quotes only where needed.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace xylem
