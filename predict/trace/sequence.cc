#include "predict/trace/sequence.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace xylem::predict {

void Sequence::require_previous(std::uint32_t operation) {
  if (strand_.last_ == Strand::kNothing) return;
  strand_.last_is_immediate_ ? builder_.require_start(operation, strand_.last_)
                             : builder_.require(operation, strand_.last_);
}

std::uint32_t Sequence::add(const Operation& operation, bool immediate) {
  const std::uint32_t index = builder_.add(operation);
  builder_.at(index).cpu = strand_.cpu_;
  require_previous(index);
  strand_.last_ = index;
  strand_.last_is_immediate_ = immediate;
  return index;
}

void Sequence::wait_for(std::span<const std::uint32_t> operations) {
  const std::uint32_t index = builder_.add({.kind = Kind::kCompute, .cpu = strand_.cpu_});
  // To wait for the end of the previous operation is to wait for its start.
  const bool waits_for_previous = std::ranges::find(operations, strand_.last_) != operations.end();
  if (!waits_for_previous) require_previous(index);
  for (const std::uint32_t it : operations) builder_.require(index, it);
  strand_.last_ = index;
  strand_.last_is_immediate_ = false;
}

void Sequence::replace(std::uint32_t index, Operation operation) {
  Operation& at = builder_.at(index);
  operation.cpu = at.cpu;
  at = operation;
}

RankProgram Sequence::finish() && { return std::get<RankProgram>(std::move(builder_).finish()); }

}  // namespace xylem::predict
