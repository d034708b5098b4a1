#pragma once

// Where an ELF file defines a variable: enough to find it in a process that has the file mapped.

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
  /// Those of the names that the file defines; addresses as the file counts them.
  std::map<std::string, std::uint64_t> address;
  /// What the file's first byte counts as: a process that has it mapped at M has a symbol of
  /// address A at M + A - first.
  std::uint64_t first = 0;
};

/// Looks in the file's dynamic symbols, and in all of them where they were not stripped. Only
/// 64-bit little-endian files of this machine's kind are read. Fails with kCorrupt on anything
/// else, and where the file contradicts itself; nothing outside of `file` is ever read. A name
/// that is not defined is no failure. Pure.
Result<ElfSymbols> find_symbols(std::span<const std::byte> file,
                                const std::vector<std::string_view>& names);

}  // namespace xylem::launch
