#pragma once

// The cores of nodes that have more ranks than cores: round robin, as the scheduler of the target's
// operating system does it. It recomputes the time that a process waits in the ready queue (SimHPC,
// Sec. 3.1, and Table 1: CLK += R at each change from ready to running).
//
// - A rank that has work asks for a core of its node. If no core is free, it waits at the end of
//   the node's queue (first in, first out). A core that becomes free takes the first of the queue.
// - A rank that gets a core gets a slice of time. When the slice has passed and other ranks wait,
//   the rank goes to the end of the queue. If none waits, it gets another slice.
// - A rank whose work has ended gives its core up, unless it has more work at that moment. Then it
//   keeps the core and its slice, but goes to the end of the queue if the slice has passed and
//   others wait.
// - Work on a message is not interrupted: a slice that would pass within it passes at its end.
// - Changes of ranks take no time, and a rank may continue on another core.
// - At the same time, ranks ask for cores in the order of the caller. Slices and work that end then
//   are looked at after that, in the order of rank numbers.
//
// The scheduler keeps no clock and no queue of events: its caller wakes it at the times that it
// asks for.
//
//   two ranks, one core, slice 10: rank 0 has work of 25, rank 1 of 5, both from 0 on
//   rank 0  runs 0-10, ready 10-15, runs 15-30
//   rank 1  ready 0-10, runs 10-15

#include <cstdint>
#include <span>
#include <vector>

#include "predict/network/loggps.h"
#include "predict/network/topology.h"

namespace xylem::predict {

/// What a Scheduler tells. The functions must not call the scheduler.
class SchedulerEvents {
 public:
  /// The rank's work begins. Called once for each work.
  virtual void begins(std::uint32_t rank, Ticks now) = 0;
  /// Work that may be interrupted has ended.
  virtual void ends(std::uint32_t rank, Ticks now) = 0;
  /// The rank has run without a break, or has waited for a core. Pieces of a rank come in order.
  virtual void ran(std::uint32_t rank, Ticks begin, Ticks end) = 0;
  virtual void waited(std::uint32_t rank, Ticks begin, Ticks end) = 0;
  /// Calls wake(rank, time), after all else that happens at this time. At the same time, ranks are
  /// woken in the order of their numbers.
  virtual void wake_at(std::uint32_t rank, Ticks time) = 0;

 protected:
  ~SchedulerEvents() = default;
};

/// The cores of all nodes. Times of successive calls never decrease. The cost of a call does not
/// grow with the number of ranks that wait. Not thread-safe.
class Scheduler {
 public:
  /// Rank r is on node node_of_rank[r], and each node has `cores` cores. `cores` and `slice` are
  /// above 0. `events` must outlive the scheduler.
  Scheduler(std::span<const Node> node_of_rank, std::uint32_t cores, Ticks slice,
            SchedulerEvents& events);

  /// The rank has work of `length` ticks, above 0. Its earlier work has ended, or ends now.
  /// `is_whole`: the work may not be interrupted.
  void ask(std::uint32_t rank, Ticks now, Ticks length, bool is_whole);

  /// Whether the rank has a core, until wake() takes it away.
  bool has_core(std::uint32_t rank) const {
    return ranks_[rank].state == State::kRunning || ranks_[rank].state == State::kResting;
  }

  /// A time that wake_at() has named. Has no effect if the rank's plans have changed since.
  void wake(std::uint32_t rank, Ticks now);

 private:
  static constexpr std::uint32_t kNobody = 0xffffffff;
  static constexpr Ticks kNever = ~Ticks{0};

  enum class State : std::uint8_t {
    kBlocked,
    kReady,
    kRunning,
    kResting,  ///< Its work has ended now. It still has its core.
  };
  struct OfRank {
    Ticks since = 0;  ///< Begin of its state.
    Ticks left = 0;   ///< Work that is left, at `since`.
    Ticks due = kNever;
    Ticks slice_end = 0;
    std::uint32_t node = 0;        ///< Index into nodes_.
    std::uint32_t next = kNobody;  ///< The next one in the queue.
    std::uint32_t place = 0;       ///< Index in the node's `on_core`.
    State state = State::kBlocked;
    bool is_whole = false;
    bool has_begun = false;
    bool has_work = false;
  };
  struct OfNode {
    std::uint32_t free_cores = 0;
    std::uint32_t first = kNobody, last = kNobody;  ///< The queue.
    std::vector<std::uint32_t> on_core;             ///< Ranks, in any order.
  };

  OfNode& node_of(const OfRank& rank) { return nodes_[rank.node]; }
  bool someone_waits(const OfRank& rank) { return node_of(rank).first != kNobody; }
  void wait(std::uint32_t rank, Ticks now);
  void take_core(std::uint32_t rank, Ticks now);
  void leave_core(std::uint32_t rank);
  void give_to_first(OfNode& node, Ticks now);
  void run(std::uint32_t rank, Ticks now);
  void rest(std::uint32_t rank, Ticks now);
  void plan_slices(OfNode& node, Ticks now);
  void end_slice(std::uint32_t rank, Ticks now);
  void go_on(std::uint32_t rank, Ticks now);
  void set_due(std::uint32_t rank, Ticks due);
  /// The end of the first slice that passes at `now` or later.
  Ticks slice_end_from(const OfRank& rank, Ticks now) const;

  const Ticks slice_;
  std::vector<OfRank> ranks_;
  std::vector<OfNode> nodes_;
  SchedulerEvents& events_;
};

}  // namespace xylem::predict
