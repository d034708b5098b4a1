#pragma once

// The code that a process has mapped: which program or library is at an address.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::backend {

/// The code of a program or library at [begin, end).
struct MappedCode {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t base = 0;  ///< Address minus `base` is the address in the file, modulo 2^64.
  std::vector<std::byte> build_id;  ///< The GNU build id; empty if it has none.
  std::string path;                 ///< As the process sees it.
  bool operator==(const MappedCode&) const = default;
};

/// A line of /proc/PID/maps about code from a file.
struct MapsLine {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  ///< Of the part, in the file.
  std::uint64_t inode = 0;
  std::string path;
  bool operator==(const MapsLine&) const = default;
};

/// The lines about code from files in a text like /proc/PID/maps, in their order. Pure.
std::vector<MapsLine> maps_lines_in(std::string_view maps);

/// Reads /proc/PID/maps, and the build id of the file whose code is at `address`, as the process
/// sees it. Returns nullopt if there is no file, if it cannot be read, or if it is not the mapped
/// one any more; also if the process has ended, or another process has its pid now.
std::optional<MappedCode> read_mapped_code(std::uint32_t pid, std::uint64_t start_time,
                                           std::uint64_t address);

}  // namespace xylem::backend
