#include "predict/node/scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace xylem::predict {

Scheduler::Scheduler(std::span<const Node> node_of_rank, std::uint32_t cores, Ticks slice,
                     SchedulerEvents& events)
    : slice_(slice), ranks_(node_of_rank.size()), events_(events) {
  CHECK(cores > 0 && slice > 0);
  // Numbers of nodes may have large gaps.
  std::vector<Node> used(node_of_rank.begin(), node_of_rank.end());
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  nodes_.resize(used.size());
  for (OfNode& it : nodes_) it.free_cores = cores;
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const auto found = std::ranges::lower_bound(used, node_of_rank[rank]);
    ranks_[rank].node = static_cast<std::uint32_t>(found - used.begin());
  }
}

void Scheduler::ask(std::uint32_t rank, Ticks now, Ticks length, bool is_whole) {
  OfRank& of = ranks_[rank];
  CHECK(length > 0);
  if (of.state == State::kRunning) rest(rank, now);
  of.left = length;
  of.is_whole = is_whole;
  of.has_begun = false;
  if (of.state == State::kResting) {
    of.has_work = true;  // wake() comes after all that happens now.
    return;
  }
  CHECK(of.state == State::kBlocked);
  if (node_of(of).free_cores > 0) {
    --node_of(of).free_cores;
    take_core(rank, now);
  } else {
    wait(rank, now);
  }
}

void Scheduler::wake(std::uint32_t rank, Ticks now) {
  OfRank& of = ranks_[rank];
  if (of.due != now) return;
  if (of.state == State::kResting) {
    go_on(rank, now);
  } else if (of.since + of.left > now) {
    end_slice(rank, now);
  } else {
    rest(rank, now);
    if (of.is_whole) {
      go_on(rank, now);  // What follows it was known before, and would have asked by now.
      return;
    }
    set_due(rank, now);
    events_.ends(rank, now);
  }
}

/// The rank has no core, and goes to the end of the queue.
void Scheduler::wait(std::uint32_t rank, Ticks now) {
  OfRank& of = ranks_[rank];
  OfNode& node = node_of(of);
  of.state = State::kReady;
  of.since = now;
  of.due = kNever;
  of.next = kNobody;
  if (node.first == kNobody) {
    node.first = rank;
    plan_slices(node, now);
  } else {
    ranks_[node.last].next = rank;
  }
  node.last = rank;
}

void Scheduler::take_core(std::uint32_t rank, Ticks now) {
  OfRank& of = ranks_[rank];
  std::vector<std::uint32_t>& on_core = node_of(of).on_core;
  of.place = static_cast<std::uint32_t>(on_core.size());
  on_core.push_back(rank);
  of.slice_end = now + slice_;
  run(rank, now);
}

void Scheduler::leave_core(std::uint32_t rank) {
  OfRank& of = ranks_[rank];
  std::vector<std::uint32_t>& on_core = node_of(of).on_core;
  ranks_[on_core.back()].place = of.place;
  on_core[of.place] = on_core.back();
  on_core.pop_back();
}

/// A core of the node is free, and somebody waits.
void Scheduler::give_to_first(OfNode& node, Ticks now) {
  const std::uint32_t rank = node.first;
  node.first = ranks_[rank].next;
  if (now > ranks_[rank].since) events_.waited(rank, ranks_[rank].since, now);
  take_core(rank, now);
}

/// The rank has a core, and work that is left.
void Scheduler::run(std::uint32_t rank, Ticks now) {
  OfRank& of = ranks_[rank];
  of.state = State::kRunning;
  of.since = now;
  const Ticks end = now + of.left;
  if (of.is_whole && of.slice_end < end) of.slice_end = end;
  set_due(rank, someone_waits(of) ? std::min(of.slice_end, end) : end);
  if (of.has_begun) return;
  of.has_begun = true;
  events_.begins(rank, now);
}

/// The rank's work has ended. It keeps its core until wake() or until it asks again.
void Scheduler::rest(std::uint32_t rank, Ticks now) {
  OfRank& of = ranks_[rank];
  CHECK(of.since + of.left == now);
  events_.ran(rank, of.since, now);
  of.state = State::kResting;
  of.has_work = false;
}

/// Somebody begins to wait on a node where nobody did, so slices count from now on.
void Scheduler::plan_slices(OfNode& node, Ticks now) {
  for (const std::uint32_t it : node.on_core) {
    OfRank& of = ranks_[it];
    if (of.state != State::kRunning) continue;
    of.slice_end = slice_end_from(of, now);
    if (of.slice_end < of.due) set_due(it, of.slice_end);
  }
}

/// The rank's slice has passed within its work.
void Scheduler::end_slice(std::uint32_t rank, Ticks now) {
  OfRank& of = ranks_[rank];
  if (!someone_waits(of)) {
    of.slice_end = now + slice_;
    set_due(rank, of.since + of.left);
    return;
  }
  if (now > of.since) events_.ran(rank, of.since, now);
  of.left -= now - of.since;
  leave_core(rank);
  wait(rank, now);
  give_to_first(node_of(of), now);
}

/// The rank's earlier work has ended, and all that happens now has happened.
void Scheduler::go_on(std::uint32_t rank, Ticks now) {
  OfRank& of = ranks_[rank];
  of.slice_end = slice_end_from(of, now);
  if (of.has_work && (of.slice_end > now || !someone_waits(of))) {
    if (of.slice_end == now) of.slice_end += slice_;
    run(rank, now);
    return;
  }
  leave_core(rank);
  if (of.has_work) {
    wait(rank, now);
  } else {
    of.state = State::kBlocked;
    of.due = kNever;
  }
  OfNode& node = node_of(of);
  someone_waits(of) ? give_to_first(node, now) : static_cast<void>(++node.free_cores);
}

void Scheduler::set_due(std::uint32_t rank, Ticks due) {
  ranks_[rank].due = due;
  events_.wake_at(rank, due);
}

Ticks Scheduler::slice_end_from(const OfRank& rank, Ticks now) const {
  if (rank.slice_end >= now) return rank.slice_end;
  return rank.slice_end + (now - rank.slice_end + slice_ - 1) / slice_ * slice_;
}

}  // namespace xylem::predict
