#include "backend/agent/record_reader.h"

#include <algorithm>

#include "base/saturating.h"

namespace xylem::backend {
namespace {

// After the clock's last pair of times, its estimate may be this far ahead. A record is wrong if
// its end is after the time at which it was read.
constexpr Nanos kAhead = 1 * kMillisecond;

bool uses_ticks(const WatchedProcess& process) {
  return process.segment.clock() == capture::ClockKind::kTsc;
}

}  // namespace

void RecordReader::read_clock(const WatchedProcesses& processes, Nanos now) {
  const bool needed = std::any_of(processes.begin(), processes.end(),
                                  [](const auto& entry) { return uses_ticks(entry.second); });
  if (needed && now >= ticks_.next_pair()) ticks_.add(read_pair_());
}

Nanos RecordReader::next_pair(const WatchedProcess& process) const {
  return uses_ticks(process) && !ticks_.is_ready() ? ticks_.next_pair() : 0;
}

bool RecordReader::is_readable(const WatchedProcess& process, const Drain& drain) const {
  if (!process.announced) return false;
  if (uses_ticks(process) && !ticks_.is_ready()) return false;
  if (process.announced_world || process.ended || drain.everything) return true;
  return process.is_filling();
}

// A drain may take long, and ranks write records meanwhile, so each read notes its time. A flush
// does not: capture was stopped before it, and the time up to which it seals must not grow.
std::size_t RecordReader::read(const WatchedProcess& process, std::uint32_t ring,
                               std::uint64_t position, std::span<capture::Record> out,
                               Drain& drain) const {
  const std::size_t count = process.segment.read(ring, position, out);
  if (count > 0 && !drain.everything) {
    drain.read_at = std::max(drain.read_at, drain.run_time(clock_()));
  }
  return count;
}

Nanos RecordReader::look_time(const WatchedProcess& process, Drain& drain) const {
  const bool by_ticks = uses_ticks(process);
  std::optional<Nanos>& known = by_ticks ? drain.looked_at_ticks : drain.looked_at_monotonic;
  if (!known) {
    known = drain.run_time(by_ticks ? ticks_.to_monotonic(read_pair_().ticks) : clock_());
    if (!drain.everything) drain.read_at = std::max(drain.read_at, *known);
  }
  return *known;
}

Nanos RecordReader::monotonic_of(const WatchedProcess& process, std::uint64_t time) const {
  return record_time(ticks_, process.segment.clock(), time);
}

std::uint64_t RecordReader::duration_of(const WatchedProcess& process, std::uint64_t ticks) const {
  if (!uses_ticks(process)) return ticks;
  const double ns = static_cast<double>(ticks) * ticks_.older_ns_per_tick();
  return static_cast<std::uint64_t>(saturating_cast<Nanos>(ns));
}

RunTimes RecordReader::times_of(const WatchedProcess& process, const Drain& drain) const {
  return {TickReader(ticks_, process.segment.clock()), LineReader(drain.clock.line()),
          drain.everything ? drain.read_at : drain.read_at + kAhead};
}

}  // namespace xylem::backend
