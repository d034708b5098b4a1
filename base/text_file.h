#pragma once

// Reading and writing a whole text file that a person names.

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

/// Writes a new file of the umask's mode, whole or not at all; with `overwrite` it takes the place
/// of what is there. Fails with kInvalidArgument when something is there, or is a folder;
/// kPermissionDenied or kInternal when it cannot be written. The sentence begins with the path.
Result<void> write_text_file(const std::string& path, std::string_view text, bool overwrite);

}  // namespace xylem
