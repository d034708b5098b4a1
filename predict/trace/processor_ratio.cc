#include "predict/trace/processor_ratio.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"

namespace xylem::predict {
namespace {

/// Sums of 2^31 operations of 2^64 ns, in millionths, have less than 2^116.
__extension__ using Sum = unsigned __int128;

RankProgram scale_rank(const RankProgram& rank, std::uint64_t ratio) {
  std::vector<Operation> operations(rank.operations().begin(), rank.operations().end());
  Sum recorded = 0, scaled = 0;
  for (Operation& it : operations) {
    if (it.kind != Kind::kCompute) continue;
    recorded += it.amount;
    const Sum until = (recorded * kSameProcessor + ratio / 2) / ratio;
    constexpr Sum kMax = std::numeric_limits<std::uint64_t>::max();
    it.amount = static_cast<std::uint64_t>(std::min(until - std::exchange(scaled, until), kMax));
  }
  return {std::move(operations), {rank.dependents().begin(), rank.dependents().end()}};
}

}  // namespace

Program scale_computing(Program program, std::uint64_t ratio) {
  CHECK(ratio > 0);
  if (ratio == kSameProcessor) return program;
  for (RankProgram& it : program.ranks) it = scale_rank(it, ratio);
  return program;
}

}  // namespace xylem::predict
