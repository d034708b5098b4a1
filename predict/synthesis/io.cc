#include "predict/synthesis/io.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/saturating.h"
#include "predict/synthesis/patterns.h"
#include "predict/trace/sequence.h"

namespace xylem::predict {
namespace {

Unexpected wrong(const std::string& what) { return unexpected(Code::kInvalidArgument, what); }

RankProgram rank_of(const IoPattern& pattern, std::uint32_t rank) {
  const std::uint32_t file = pattern.is_shared ? 0 : rank;
  Sequence sequence;
  for (std::uint64_t round = 0; round < pattern.rounds; ++round) {
    if (pattern.compute_ns > 0) {
      sequence.run({.amount = pattern.compute_ns, .kind = Kind::kCompute});
    }
    for (std::uint64_t offset = 0; offset < pattern.file_bytes;) {
      const std::uint64_t bytes = std::min(pattern.block_bytes, pattern.file_bytes - offset);
      const std::uint32_t access = sequence.add_access({offset, file, pattern.is_write});
      sequence.run({.amount = bytes, .peer = access, .kind = Kind::kFile});
      offset += bytes;
    }
  }
  return std::move(sequence).finish();
}

}  // namespace

Result<Program> io_program(const IoPattern& pattern) {
  if (pattern.ranks == 0 || pattern.ranks > kMaxRanks) {
    return wrong(std::to_string(pattern.ranks) + " ranks are not possible; take 1 to " +
                 std::to_string(kMaxRanks));
  }
  if (pattern.block_bytes == 0) return wrong("a block has 0 bytes; take 1 or more");
  const std::uint64_t accesses =
      pattern.file_bytes / pattern.block_bytes + (pattern.file_bytes % pattern.block_bytes > 0);
  const std::uint64_t of_rank = saturating_multiply(
      saturating_add(accesses, std::uint64_t{pattern.compute_ns > 0}), pattern.rounds);
  if (saturating_multiply(of_rank, std::uint64_t{pattern.ranks}) > kMaxSynthesised) {
    return wrong("the program would have more than " + std::to_string(kMaxSynthesised) +
                 " operations; take fewer ranks or rounds, or larger blocks");
  }
  Program program;
  program.ranks.reserve(pattern.ranks);
  // Rounds without operations are not counted above, and there may be very many.
  IoPattern made = pattern;
  if (of_rank == 0) made.rounds = 0;
  for (std::uint32_t rank = 0; rank < made.ranks; ++rank) {
    program.ranks.push_back(rank_of(made, rank));
  }
  return program;
}

}  // namespace xylem::predict
