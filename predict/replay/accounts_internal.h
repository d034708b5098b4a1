#pragma once

// The times of ranks by state, and the rows of their timelines, in a replay that needs more than
// the time in which a single processor is busy.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "predict/replay/timeline.h"

namespace xylem::predict {

/// Each rank has a time up to which its timeline is complete. What it did later comes in the order
/// of its begin. A value type; not thread-safe.
class Accounts {
 public:
  /// `sink` may be null.
  Accounts(std::size_t ranks, TimelineSink* sink) : ranks_(ranks), sink_(sink) {}

  /// The rank runs, or is ready, from `begin` to `end`. It was blocked before, and `doing` has
  /// ended that. Time that is complete already does not count again.
  void add(std::uint32_t rank, TimelineState state, Ticks begin, Ticks end, const Doing& doing) {
    block(rank, begin, doing);
    OfRank& of = ranks_[rank];
    if (end <= of.until) return;
    (state == TimelineState::kReady ? of.ready : of.run) += end - of.until;
    complete(rank, state, end, doing);
  }

  /// The rank is blocked until `end`, unless its timeline goes further.
  void block(std::uint32_t rank, Ticks end, const Doing& doing) {
    if (end > ranks_[rank].until) complete(rank, TimelineState::kIo, end, doing);
  }

  Ticks run(std::uint32_t rank) const { return ranks_[rank].run; }
  Ticks ready(std::uint32_t rank) const { return ranks_[rank].ready; }

 private:
  struct OfRank {
    Ticks until = 0, run = 0, ready = 0;
  };

  void complete(std::uint32_t rank, TimelineState state, Ticks end, const Doing& doing) {
    Ticks& until = ranks_[rank].until;
    if (sink_ != nullptr) sink_->add({rank, state, until, end, doing});
    until = end;
  }

  std::vector<OfRank> ranks_;
  TimelineSink* sink_;
};

}  // namespace xylem::predict
