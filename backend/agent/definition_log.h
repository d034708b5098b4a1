#pragma once

// Reads a process's log of definitions (capture/core/definitions.h). The process is not trusted:
// its log may have any bytes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/find/mapped_code.h"
#include "wire/definitions.h"

namespace xylem::backend {

struct DefinitionBatch {
  /// `lost` and `call_sites` are not set. The threads' times are monotonic, not of the run.
  wire::Definitions definitions;
  std::vector<MappedCode> mapped_code;
  std::size_t read = 0;     ///< Number of bytes that need not be read again.
  bool is_damaged = false;  ///< The bytes are not a valid log. The rest cannot be read.
};

/// Reads the entries in `bytes`, which begin with an entry. The last entry may be cut off; then it
/// is not read. An entry of an unknown kind is skipped, and so is one with a
/// negative size or place. A negative rank of a neighbour stands for a process of another world.
/// Texts are made printable, except paths.
DefinitionBatch read_definitions(std::span<const std::byte> bytes);

}  // namespace xylem::backend
