#pragma once

// Reading a whole text file that a person names.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace xylem {

/// No text that a person writes is larger.
constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

/// The bytes of a file; `what` is its kind in errors: "topology file". A pipe will do. A text
/// longer than `most` is cut one byte behind it, so that its reader can tell and refuse it. Fails
/// with kNotFound, kPermissionDenied, kInvalidArgument (a folder) or kInternal when it cannot be
/// read; the sentence begins with the path.
Result<std::string> read_text_file(const std::string& path, std::string_view what,
                                   std::size_t most = kMaxTextBytes);

}  // namespace xylem
