#include "predict/trace/processor_ratio.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"

namespace xylem::predict {
namespace {

__extension__ using Wide = unsigned __int128;

RankProgram scale_rank(const RankProgram& rank, std::uint64_t ratio) {
  std::vector<Operation> operations(rank.operations().begin(), rank.operations().end());
  ComputingScale scale(ratio);
  for (Operation& it : operations) {
    if (it.kind == Kind::kCompute) it.amount = scale.next(it.amount);
  }
  return {std::move(operations),
          {rank.dependents().begin(), rank.dependents().end()},
          {rank.accesses().begin(), rank.accesses().end()}};
}

}  // namespace

std::uint64_t ComputingScale::next(std::uint64_t ns) {
  const Wide parts = Wide{ns} * kSameProcessor + rest_;
  rest_ = static_cast<std::uint64_t>(parts % ratio_);
  constexpr Wide kMax = std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(std::min(parts / ratio_, kMax));
}

Program scale_computing(Program program, std::uint64_t ratio) {
  CHECK(ratio > 0);
  if (ratio == kSameProcessor) return program;
  for (RankProgram& it : program.ranks) it = scale_rank(it, ratio);
  return program;
}

}  // namespace xylem::predict
