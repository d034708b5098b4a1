#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xylem {

/// Returns the first 60 bytes of `text` in single quotes, for error messages. "..." stands for the
/// rest. Characters that are not printable ASCII become `?`.
std::string quoted(std::string_view text);

/// Returns `text` in single quotes, so that a POSIX shell reads it unchanged.
std::string shell_quoted(std::string_view text);

/// Returns a command line that a POSIX shell splits into `words`. Words are quoted only where
/// needed.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace xylem
