#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xylem {

/// The beginning of `text` in single quotes, without bytes that would break a line of text. For
/// error messages.
std::string quoted(std::string_view text);

/// `text` in single quotes, so that a POSIX shell reads it unchanged.
std::string shell_quoted(std::string_view text);

/// A command line that a POSIX shell splits into `words`. Words are quoted only where needed.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace xylem
