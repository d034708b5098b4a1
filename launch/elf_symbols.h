#pragma once

// Finds variables in an ELF file. This locates the variables in a process that has mapped the file.

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
  /// For each requested name that the file defines, the name's address in the file.
  std::map<std::string, std::uint64_t> address;
  /// Address of the file's first byte. In a process that has mapped the file at M, the symbol with
  /// address A is at M + A - first.
  std::uint64_t first = 0;
};

/// Searches the dynamic symbols. If the file is not stripped, also searches all other symbols.
/// Supports only 64-bit little-endian files. Fails with kCorrupt on any other file and on
/// inconsistent files. Never reads outside of `file`. A name that the file does not define is not
/// an error. Pure.
Result<ElfSymbols> find_symbols(std::span<const std::byte> file,
                                const std::vector<std::string_view>& names);

}  // namespace xylem::launch
