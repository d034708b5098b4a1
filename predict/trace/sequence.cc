#include "predict/trace/sequence.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace xylem::predict {

void Sequence::require_previous(std::uint32_t operation) {
  if (operation == 0) return;
  last_is_immediate_ ? builder_.require_start(operation, operation - 1)
                     : builder_.require(operation, operation - 1);
}

std::uint32_t Sequence::add(const Operation& operation, bool immediate) {
  const std::uint32_t index = builder_.add(operation);
  require_previous(index);
  last_is_immediate_ = immediate;
  return index;
}

void Sequence::wait_for(std::span<const std::uint32_t> operations) {
  const std::uint32_t index = builder_.add({.kind = Kind::kCompute});
  // To wait for the end of the previous operation is to wait for its start.
  const bool waits_for_previous =
      index > 0 && std::ranges::find(operations, index - 1) != operations.end();
  if (!waits_for_previous) require_previous(index);
  for (const std::uint32_t it : operations) builder_.require(index, it);
  last_is_immediate_ = false;
}

RankProgram Sequence::finish() && { return std::get<RankProgram>(std::move(builder_).finish()); }

}  // namespace xylem::predict
