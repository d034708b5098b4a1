#pragma once

// Reads and writes whole text files that a user names.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace xylem {

/// Maximum size of a text file.
constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

/// Reads a file or a pipe. `what` is the kind of file for error messages, for example "topology
/// file". Reads at most `max_bytes` + 1 bytes, so that the caller can detect and refuse a longer
/// text. Fails with kNotFound, kPermissionDenied, kInvalidArgument (a folder) or kInternal when the
/// file cannot be read. The message begins with the path.
Result<std::string> read_text_file(const std::string& path, std::string_view what,
                                   std::size_t max_bytes = kMaxTextBytes);

/// Writes a new file, completely or not at all. From the start, the file's mode is `mode` without
/// the bits of the umask. With `overwrite`, the new file replaces an existing file. Without
/// `overwrite`, fails with kInvalidArgument if the path exists. Fails with kInvalidArgument if the
/// path is a folder, or if an existing path is not a regular file. Fails with kPermissionDenied or
/// kInternal if the file cannot be written. The message begins with the path.
Result<void> write_text_file(const std::string& path, std::string_view text, bool overwrite,
                             unsigned mode = 0666);

}  // namespace xylem
