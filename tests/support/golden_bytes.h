#pragma once

// Golden bytes in a form that people can read in a diff: hexadecimal, 16 bytes in each line, a
// space after every 8.

#include <cstddef>
#include <filesystem>
#include <vector>

namespace xylem::testing {

/// Reads the bytes from a file of hexadecimal digits; white space is skipped. Empty if there is no
/// such file, or if it contains anything else.
std::vector<std::byte> read_hex(const std::filesystem::path& file);

/// Writes a file that read_hex() can read. Returns false if the file cannot be written.
bool write_hex(const std::filesystem::path& file, const std::vector<std::byte>& bytes);

}  // namespace xylem::testing
