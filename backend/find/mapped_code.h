#pragma once

// The code that a process has mapped: which part of which file is at an address.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::backend {

/// A part of a file that is mapped as code at [begin, end).
struct MappedCode {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  ///< Of the part, in the file.
  std::string path;          ///< As the process sees it.
  bool operator==(const MappedCode&) const = default;
};

/// The lines about code of files in a text like /proc/PID/maps, in their order. Pure.
std::vector<MappedCode> mapped_code_in(std::string_view maps);

/// Reads /proc/PID/maps. Returns nothing if the process has ended, or if another process has its
/// pid now.
std::vector<MappedCode> read_mapped_code(std::uint32_t pid, std::uint64_t start_time);

}  // namespace xylem::backend
