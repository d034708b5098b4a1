#include "backend/leaf/window_builder.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/check.h"

namespace xylem::backend {
namespace {

using capture::is_part;
using capture::Record;

// Approximate size of an encoded row.
constexpr std::size_t kRowBytes = 160;
constexpr std::size_t kPairBytes = 40;
constexpr std::size_t kOpenBytes = 48;

void add_up(std::uint64_t& sum, std::uint64_t more) {
  if (__builtin_add_overflow(sum, more, &sum)) sum = std::numeric_limits<std::uint64_t>::max();
}

bool has_peer(const Record& record, std::uint16_t flag) {
  return (record.flags & flag) != 0 && record.peer >= 0;
}

// The function of a hostile record may be any number.
FunctionId function_of(const Record& record) {
  return FunctionId{static_cast<std::uint16_t>(
      std::min<std::uint64_t>(record.function, capture::kMaxFunctions - 1))};
}

}  // namespace

void WindowBuilder::open(std::uint64_t slice, Nanos window_ns) {
  CHECK(window_ns > 0);
  clear();
  open_ = true;
  slice_ = slice;
  if (window_ns == window_ns_) return;
  window_ns_ = window_ns;
  for (auto& [lane, process] : processes_) {
    for (ThreadTime& thread : process.threads) thread.room.restart(begin_ns());
  }
}

void WindowBuilder::clear() {
  for (const wire::ProfileRow& row : rows_) {
    Process& of = processes_[raw(row.lane)];
    of.row_of[raw(row.function)] = 0;
    of.rows.clear();
    for (auto& [thread, group] : of.large) {
      group.time_ns = group.receives = 0;
      group.receives_from.clear();
    }
  }
  rows_.clear();
  matrix_.clear();
  waits_.clear();
  earlier_.clear();
  under_way_.clear();
  ended_in_.clear();
}

// Returns the number of completions of one call, from `first` on.
std::size_t WindowBuilder::group_at(std::span<const TimedRecord> records, std::size_t first) {
  const Record& of = records[first].record;
  std::size_t end = first;
  while (end < records.size() && is_part(records[end].record) &&
         records[end].record.begin == of.begin && records[end].record.end == of.end &&
         records[end].record.function == of.function) {
    ++end;
  }
  return end - first;
}

std::size_t WindowBuilder::add(Lane lane, std::span<const TimedRecord> records, bool complete) {
  CHECK(open_);
  Process& of = process(lane);
  const Nanos slice_end = end_ns();
  std::size_t at = 0;
  std::size_t earlier = earlier_.size();
  while (at < records.size() && records[at].end_ns < slice_end) {
    if (earlier_.size() != earlier) {
      if (is_full()) break;
      earlier = earlier_.size();
    }
    if (records[at].record.kind != capture::kRecordOfMpi) {
      ++at;  // A region has sums of its own.
      continue;
    }
    if (!is_part(records[at].record)) {
      add_one(of, lane, records[at], 1);
      ++at;
      continue;
    }
    const std::size_t group = group_at(records, at);
    const bool may_go_on = at + group == records.size();
    if (may_go_on && !complete && group < kLargestGroup) break;
    add_group(of, lane, records.subspan(at, group), may_go_on && !complete);
    at += group;
  }
  return at;
}

void WindowBuilder::add_group(Process& process, Lane lane, std::span<const TimedRecord> group,
                              bool goes_on) {
  LargeGroup* large = find_large(process, lane, group.front(), goes_on);
  std::uint64_t receives = 0;
  for (const TimedRecord& timed : group) {
    if (!has_peer(timed.record, capture::kRecordReceive)) continue;
    ++receives;
    if (large != nullptr) ++large->receives_from[timed.record.peer];
  }
  if (large != nullptr) large->receives += receives;
  const std::uint64_t sharing = large != nullptr ? 0 : std::max<std::uint64_t>(1, receives);
  for (const TimedRecord& timed : group) add_one(process, lane, timed, sharing);
}

// The number of receives that share the time of a call is known only after the last part.
WindowBuilder::LargeGroup* WindowBuilder::find_large(Process& process, Lane lane,
                                                     const TimedRecord& first, bool goes_on) {
  const Record& of = first.record;
  const auto known = process.large.find(first.thread);
  if (known != process.large.end() && known->second.begin == of.begin &&
      known->second.end == of.end && known->second.function == of.function) {
    return &known->second;
  }
  if (!goes_on) return nullptr;
  if (known != process.large.end()) share_time(lane, known->second);
  // The thread of a hostile record may be any number.
  if (known == process.large.end() && process.large.size() >= capture::kMaxThreads) return nullptr;
  LargeGroup& large = process.large[first.thread];
  large.begin = of.begin;
  large.end = of.end;
  large.function = of.function;
  large.time_ns = static_cast<std::uint64_t>(first.end_ns - first.begin_ns);
  return &large;
}

void WindowBuilder::share_time(Lane lane, LargeGroup& group) {
  if (group.receives == 0) return;
  const std::uint64_t each = group.time_ns / group.receives;
  for (const auto& [peer, receives] : group.receives_from) {
    add_up(waits_.of(lane, peer).time_ns, each * receives);
  }
  group.receives_from.clear();
  group.time_ns = group.receives = 0;
}

void WindowBuilder::add_one(Process& process, Lane lane, const TimedRecord& timed,
                            std::uint64_t sharing) {
  const Record& record = timed.record;
  const auto duration = static_cast<std::uint64_t>(timed.end_ns - timed.begin_ns);
  const std::uint64_t calls = is_part(record) ? 0 : record.calls;
  const FunctionId function = function_of(record);
  wire::ProfileRow& into = row(process, lane, function);
  // The blocks of a collective are parts of its own bytes.
  if ((record.flags & capture::kRecordBlock) == 0) add_up(into.bytes, record.bytes);
  std::uint64_t time = duration;
  if (calls != 0) {
    time = count_time(process, timed, into, calls);
    into.min_ns = into.calls == 0 ? duration : std::min(into.min_ns, duration);
    into.max_ns = std::max(into.max_ns, duration);
    into.histogram.add(duration, 1);
    if (calls > 1) into.histogram.add((time - duration) / (calls - 1), calls - 1);
    into.estimated |= calls > 1;
    add_up(into.calls, calls);
  }
  if (has_peer(record, capture::kRecordSend)) {
    Traffic& traffic = matrix_.of(lane, record.peer);
    add_up(traffic.bytes, record.bytes);
    add_up(traffic.messages, 1);
  }
  if (has_peer(record, capture::kRecordReceive)) {
    Wait& wait = waits_.of(lane, record.peer);
    if (sharing != 0) add_up(wait.time_ns, time / sharing);
    add_up(wait.calls, std::max<std::uint64_t>(1, calls));
  }
}

// ---- time ----

// Counts the time of a record's calls in the slices in which it passed, and returns it. `row` is
// the function's row in the open slice.
std::uint64_t WindowBuilder::count_time(Process& process, const TimedRecord& timed,
                                        wire::ProfileRow& row, std::uint64_t calls) {
  const FunctionId function = row.function;
  ThreadTime& thread = thread_of(process, timed.thread);
  if (thread.has_step) follow_step(thread, timed.end_ns);
  const Nanos begin = timed.begin_ns;
  const auto duration = static_cast<std::uint64_t>(timed.end_ns - begin);
  std::uint64_t time = duration;
  if (calls > 1) {
    // A successor does not know which time its predecessor has counted before the begin.
    const Nanos since = thread.is_resumed ? begin : begin_ns();
    const Nanos from = process.times.earliest(timed.thread, function, begin, since);
    time = process.times.take(timed.thread, function, begin, timed.end_ns, calls, since);
    time = duration +
           spread(row, thread, from, begin, thread.charged_until, time - std::min(time, duration));
  } else {
    process.times.take(timed.thread, function, begin, timed.end_ns, calls, begin);
  }
  charge(row, thread, std::max(begin, thread.charged_until), timed.end_ns);
  if (overlap_counts_once_) thread.charged_until = std::max(thread.charged_until, timed.end_ns);
  return time;
}

WindowBuilder::ThreadTime& WindowBuilder::thread_of(Process& process, ThreadIndex thread) {
  // A hostile record may name any thread.
  const std::uint32_t number = std::min(raw(thread), capture::kMaxThreads - 1);
  if (number >= process.threads.size()) process.threads.resize(number + 1);
  return process.threads[number];
}

// Counts the time of calls between two instants, cut at the borders of slices. `row` is as above.
void WindowBuilder::charge(wire::ProfileRow& row, ThreadTime& thread, Nanos from, Nanos to) {
  from = std::max<Nanos>(0, from);
  if (from >= to) return;
  const Nanos open = begin_ns();
  if (to > open) {
    const auto time = static_cast<std::uint64_t>(to - std::max(from, open));
    thread.room.use(slice_, time);
    add_up(row.time_ns, time);
  }
  if (from < open) charge_earlier(row, thread, from, std::min(to, open));
}

// The same for time before the open slice.
void WindowBuilder::charge_earlier(const wire::ProfileRow& row, ThreadTime& thread, Nanos from,
                                   Nanos to) {
  const std::uint64_t oldest = slice_ - std::min(slice_, kMaxEarlierSlices);
  const std::uint64_t last = slice_of(to - 1, window_ns_);
  Nanos at = from;
  for (std::uint64_t slice = std::clamp(slice_of(from, window_ns_), std::min(oldest, last), last);
       at < to; ++slice) {
    const Nanos end = std::min(to, static_cast<Nanos>(slice + 1) * window_ns_);
    const auto time = static_cast<std::uint64_t>(end - at);
    thread.room.use(slice, time);
    add_earlier(row, slice, time, false);
    at = end;
  }
}

// Counts the estimated time of calls that were made between two instants. Returns the part for
// which there was free time. `charged_until` may be behind `to`: the timed call was open for long.
std::uint64_t WindowBuilder::spread(wire::ProfileRow& row, ThreadTime& thread, Nanos from, Nanos to,
                                    Nanos charged_until, std::uint64_t time) {
  if (from >= to) return 0;
  const Nanos slice_end = ((to - 1) / window_ns_ + 1) * window_ns_;
  const Nanos later = std::min(charged_until, slice_end) - to;
  return thread.room.spread(from, to, window_ns_,
                            static_cast<std::uint64_t>(std::max<Nanos>(0, later)), time,
                            [&](std::uint64_t slice, std::uint64_t part) {
                              if (slice == slice_) {
                                add_up(row.time_ns, part);
                              } else {
                                add_earlier(row, slice, part, true);
                              }
                            });
}

void WindowBuilder::add_earlier(const wire::ProfileRow& row, std::uint64_t slice,
                                std::uint64_t time, bool estimated) {
  Earlier& into = earlier_[{row.lane, row.function, slice}];
  add_up(into.time_ns, time);
  into.estimated |= estimated;
}

// ---- calls without a record ----

void WindowBuilder::charge_open(Lane lane, const Open& call, Nanos until) {
  until = std::min(until, end_ns());
  Process& of = process(lane);
  ThreadTime& thread = thread_of(of, call.thread);
  if (call.begin_ns >= until || until <= begin_ns()) return;
  if (thread.has_step) follow_step(thread, until);
  const Nanos from = std::max(call.begin_ns, thread.charged_until);
  if (from < until) charge(row(of, lane, call.function), thread, from, until);
  thread.charged_until = std::max(thread.charged_until, until);
  const bool has_died_in_it = std::ranges::any_of(ended_in_, [&](const wire::UnderWayRow& row) {
    return row.lane == lane && row.thread == call.thread;
  });
  if (!has_died_in_it) under_way_.push_back(listed(lane, call));
}

wire::UnderWayRow WindowBuilder::listed(Lane lane, const Open& call) const {
  wire::UnderWayRow row;
  row.leaf = leaf_;
  row.lane = lane;
  row.thread = call.thread;
  row.function = call.function;
  row.begin_ns = call.begin_ns;
  if (call.peer >= 0) row.peer = Rank{static_cast<std::uint32_t>(call.peer)};
  if (call.comm != wire::kNoComm) row.comm = call.comm;
  return row;
}

Nanos WindowBuilder::charged_until(Lane lane, ThreadIndex thread) const {
  const auto of = processes_.find(raw(lane));
  if (of == processes_.end() || raw(thread) >= of->second.threads.size()) return 0;
  return of->second.threads[raw(thread)].charged_until;
}

void WindowBuilder::resume(Lane lane, ThreadIndex thread, Nanos charged_until) {
  ThreadTime& of = thread_of(process(lane), thread);
  of.charged_until = std::max(of.charged_until, charged_until);
  of.is_resumed = true;
  of.room.restart(charged_until);  // Earlier counts are unknown.
}

void WindowBuilder::step_back(Nanos run_time) {
  for (auto& [lane, process] : processes_) {
    for (ThreadTime& thread : process.threads) {
      thread.step_to = thread.has_step ? std::min(thread.step_to, run_time) : run_time;
      thread.has_step = true;
    }
  }
}

// A thread follows a step only once, so that a hostile thread cannot go back repeatedly. Calls that
// ended before the step still have times before the step. They come first.
void WindowBuilder::follow_step(ThreadTime& thread, Nanos until) {
  if (until >= thread.charged_until) return;
  thread.has_step = false;
  thread.charged_until = std::min(thread.charged_until, thread.step_to);
  thread.room.restart(thread.charged_until);
}

void WindowBuilder::end_open(Lane lane, const Open& call, Nanos until) {
  Process& of = process(lane);
  ThreadTime& thread = thread_of(of, call.thread);
  if (thread.has_step) follow_step(thread, until);
  until = std::min(std::max(until, thread.charged_until), end_ns());
  const auto duration = static_cast<std::uint64_t>(std::max<Nanos>(0, until - call.begin_ns));
  wire::ProfileRow& into = row(of, lane, call.function);
  charge(into, thread, std::max(call.begin_ns, thread.charged_until), until);
  thread.charged_until = std::max(thread.charged_until, until);
  into.min_ns = into.calls == 0 ? duration : std::min(into.min_ns, duration);
  into.max_ns = std::max(into.max_ns, duration);
  into.histogram.add(duration, 1);
  into.estimated = true;
  add_up(into.calls, 1);
  ended_in_.push_back(listed(lane, call));
}

void WindowBuilder::add_calls(Lane lane, FunctionId function, std::uint64_t calls, Nanos until) {
  if (calls == 0) return;
  Process& of = process(lane);
  until = std::min(until, end_ns());
  wire::ProfileRow& into = row(of, lane, function);
  std::uint64_t left = of.times.of_unrecorded(function, calls, until);
  std::uint64_t time = 0;
  for (const TimeEstimate::Span& span : of.times.unrecorded_spans(function, until)) {
    ThreadTime& thread = thread_of(of, span.thread);
    const std::uint64_t part = spread(into, thread, span.begin, span.end, 0, left);
    time += part;
    left -= part;
  }
  const std::uint64_t each = time / calls;
  into.min_ns = into.calls == 0 ? each : std::min(into.min_ns, each);
  into.max_ns = std::max(into.max_ns, each);
  into.histogram.add(each, calls);
  into.estimated = true;
  add_up(into.calls, calls);
}

// ---- rows ----

WindowBuilder::Process& WindowBuilder::process(Lane lane) {
  Process& found = processes_[raw(lane)];
  if (found.row_of.empty()) found.row_of.resize(capture::kMaxFunctions);
  return found;
}

wire::ProfileRow& WindowBuilder::row(Process& process, Lane lane, FunctionId function) {
  std::uint32_t& found = process.row_of[raw(function)];
  if (found == 0) {
    wire::ProfileRow fresh;
    fresh.leaf = leaf_;
    fresh.lane = lane;
    fresh.function = function;
    process.rows.push_back(static_cast<std::uint32_t>(rows_.size()));
    rows_.push_back(fresh);
    found = static_cast<std::uint32_t>(rows_.size());
  }
  return rows_[found - 1];
}

std::size_t WindowBuilder::approximate_bytes() const {
  return rows_.size() * kRowBytes + (matrix_.size() + waits_.size()) * kPairBytes +
         (earlier_.size() + under_way_.size() + ended_in_.size()) * kOpenBytes;
}

std::uint64_t WindowBuilder::calls(Lane lane) const {
  const auto of = processes_.find(raw(lane));
  if (of == processes_.end()) return 0;
  std::uint64_t sum = 0;
  for (const std::uint32_t row : of->second.rows) add_up(sum, rows_[row].calls);
  return sum;
}

std::uint64_t WindowBuilder::calls(Lane lane, FunctionId function) const {
  const auto of = processes_.find(raw(lane));
  if (of == processes_.end()) return 0;
  const std::uint32_t found = of->second.row_of[raw(function)];
  return found == 0 ? 0 : rows_[found - 1].calls;
}

void WindowBuilder::forget(Lane lane) {
  const auto of = processes_.find(raw(lane));
  if (of != processes_.end() && of->second.rows.empty()) processes_.erase(of);
}

wire::ProfileWindow WindowBuilder::build() {
  for (auto& [lane, process] : processes_) {
    for (auto& [thread, group] : process.large) share_time(Lane{lane}, group);
  }
  wire::ProfileWindow window;
  window.begin_ns = begin_ns();
  window.end_ns = end_ns();
  // Rows are large: each is copied once, to its place.
  std::vector<const wire::ProfileRow*> order;
  for (const wire::ProfileRow& row : rows_) order.push_back(&row);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::tie(a->lane, a->function) < std::tie(b->lane, b->function);
  });
  window.rows.reserve(order.size());
  for (const wire::ProfileRow* row : order) window.rows.push_back(*row);
  const auto lane_of = [](std::uint64_t key) {
    return Lane{static_cast<std::uint32_t>(key >> 32)};
  };
  const auto peer_of = [](std::uint64_t key) { return Rank{static_cast<std::uint32_t>(key)}; };
  for (const auto& [key, traffic] : matrix_.in_order()) {
    window.matrix.push_back({leaf_, lane_of(key), peer_of(key), traffic.bytes, traffic.messages});
  }
  for (const auto& [key, wait] : waits_.in_order()) {
    window.waits.push_back({leaf_, lane_of(key), peer_of(key), wait.time_ns, wait.calls});
  }
  for (const auto& [key, earlier] : earlier_) {
    const auto& [lane, function, slice] = key;
    const Nanos begin = static_cast<Nanos>(slice) * window_ns_;
    window.earlier.push_back(
        {leaf_, lane, function, earlier.estimated, begin, begin + window_ns_, earlier.time_ns});
  }
  window.under_way = under_way_;
  window.under_way.insert(window.under_way.end(), ended_in_.begin(), ended_in_.end());
  return window;
}

}  // namespace xylem::backend
