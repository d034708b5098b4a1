#pragma once

#include <string>
#include <string_view>

namespace xylem {

/// The beginning of what came, in single quotes, without bytes that would spoil a line of text: for
/// sentences that say what is wrong.
std::string quoted(std::string_view text);

}  // namespace xylem
