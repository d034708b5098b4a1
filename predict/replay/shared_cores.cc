#include <algorithm>

#include "predict/replay/replay_internal.h"

// Cores that ranks share (node/scheduler.h). An event that occupies a processor happens in two
// steps: it asks for a core, and it happens when its rank has one. Between these, and during
// computing, nobody knows when the processor will be free. Its clock is kUnknownEnd then, and all
// that waits for it stays in its line without a call.

namespace xylem::predict {

void Replay::share_cores() {
  const Event none(0, 0, 0, 0, EventKind::kCompute);
  asked_.resize(routes_->node_of_rank.size(), none);
  running_ = asked_;
  SchedulerEvents& events = *this;
  scheduler_.emplace(routes_->node_of_rank, routes_->cores.cores,
                     costs_.from_ns(routes_->cores.slice_ns), events);
}

/// When the operation of `event` starts, if its clocks are free at `time`. With an unknown clock it
/// waits in its line instead, and kUnknownEnd is returned.
Ticks Replay::known_time(Ticks time, const Event& event) {
  if (time == kUnknownEnd) {
    lines_.add(line_of(event.kind, event.rank, operation_of(event)), event);
    ++created_;
    return kUnknownEnd;
  }
  if (!has_several_cpus_) return time;
  return std::max(time, ready_[ranks_[event.rank].unmet + event.operation - unmet_.data()]);
}

/// How long an event keeps the processor busy.
Ticks Replay::work_of(const Event& event, const Operation& of) const {
  switch (event.kind) {
    case EventKind::kCompute:
      return costs_.from_ns(of.amount);
    case EventKind::kSend:
    case EventKind::kInsideSend:
      return costs_.send_cpu(of.amount);
    case EventKind::kMessage:
      return costs_.receive_cpu(of.amount);
    case EventKind::kInsideMessage:
      return routes_->costs.memory().receive_cpu(of.amount);
    default:
      return 0;
  }
}

void Replay::ask_for_core(const Event& event) {
  const Operation& of = operation_of(event);
  const Ticks work = work_of(event, of);
  const std::uint32_t rank = rank_of(event, of);
  if (work == 0) {
    if (!scheduler_->has_core(rank)) accounts_.block(rank, event.time, doing_of(event, of));
    handle(event);
    return;
  }
  clock(rank, resources_.cpu(of)) = kUnknownEnd;
  asked_[rank] = event;
  scheduler_->ask(rank, event.time, work, event.kind != EventKind::kCompute);
}

/// The processor's clock is known again. Calls all that waits for it.
void Replay::wake_lines(std::uint32_t rank, Ticks now) {
  const std::size_t lines = resources_.pairs() * kLines;
  for (std::size_t line = rank * lines; line < (rank + 1) * lines; ++line) {
    if (lines_.first(line) == WaitingLines::kNone) continue;
    const Event& first = lines_.event(lines_.first(line));
    call_first(line, std::max(now, free_at(first.kind, rank, operation_of(first))));
  }
}

void Replay::begins(std::uint32_t rank, Ticks now) {
  Event& event = running_[rank];
  event = asked_[rank];
  event.time = now;
  if (event.kind != EventKind::kCompute) {
    handle(event);
    wake_lines(rank, now);
    return;
  }
  event_rank_ = rank;
  ++prediction_.events;
  start(rank, event.operation, now);
  push_free(now);
}

void Replay::ends(std::uint32_t rank, Ticks now) {
  const Event& event = running_[rank];
  clock(rank, resources_.cpu(operation_of(event))) = now;
  event_rank_ = rank;
  finish(rank, event.operation, now);
  wake_lines(rank, now);
  push_free(now);
}

void Replay::ran(std::uint32_t rank, Ticks begin, Ticks end) {
  const Event& event = running_[rank];
  accounts_.add(rank, TimelineState::kRun, begin, end, doing_of(event, operation_of(event)));
}

void Replay::waited(std::uint32_t rank, Ticks begin, Ticks end) {
  const Event& event = asked_[rank];
  accounts_.add(rank, TimelineState::kReady, begin, end, doing_of(event, operation_of(event)));
}

void Replay::wake_at(std::uint32_t rank, Ticks time) {
  queue_.push({time, kOrderOfCores | rank, 0, rank, EventKind::kCore});
}

}  // namespace xylem::predict
