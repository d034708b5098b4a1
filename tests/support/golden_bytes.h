#pragma once

// Golden bytes as people can see them in a diff: hex, 16 bytes a line, a space after each 8.

#include <cstddef>
#include <filesystem>
#include <vector>

namespace xylem::testing {

/// The bytes in a file of hex; white space does not count. Empty when there is no such file, or
/// when it holds anything else.
std::vector<std::byte> read_hex(const std::filesystem::path& file);

/// False when the file cannot be written.
bool write_hex(const std::filesystem::path& file, const std::vector<std::byte>& bytes);

}  // namespace xylem::testing
