#pragma once

// Programs that read or write files: what storage is compared with.

#include <cstdint>

#include "base/result.h"
#include "predict/trace/program.h"

namespace xylem::predict {

/// What every rank does: `rounds` times it computes, then goes through its part of a file from the
/// first to the last byte, in accesses of `block_bytes`. The last one may be shorter.
struct IoPattern {
  std::uint32_t ranks = 1;
  std::uint64_t file_bytes = 0;
  std::uint64_t block_bytes = 65536;
  std::uint64_t rounds = 1;
  std::uint64_t compute_ns = 0;
  bool is_write = false;
  /// All ranks go through file 0. Otherwise rank r goes through file r, which is its own.
  bool is_shared = false;
};

/// A rank has rounds * ceil(file_bytes / block_bytes) accesses.
///
/// Fails with kInvalidArgument if there are 0 or more than kMaxRanks ranks, if a block has 0 bytes,
/// and if the program would have more than kMaxSynthesised operations (patterns.h).
Result<Program> io_program(const IoPattern& pattern);

}  // namespace xylem::predict
