#pragma once

// Finds variables in an ELF file, to locate them in a process that has the file mapped.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem::launch {

struct ElfSymbols {
  /// The requested names that the file defines, with their addresses in the file.
  std::map<std::string, std::uint64_t> address;
  /// Address of the file's first byte: in a process that has the file mapped at M, the symbol with
  /// address A is at M + A - first.
  std::uint64_t first = 0;
};

/// Searches the dynamic symbols, and all symbols if they were not stripped. Supports only 64-bit
/// little-endian files for this machine. Fails with kCorrupt on anything else and on inconsistent
/// files; never reads outside of `file`. An undefined name is not an error. Pure.
Result<ElfSymbols> find_symbols(std::span<const std::byte> file,
                                const std::vector<std::string_view>& names);

}  // namespace xylem::launch
