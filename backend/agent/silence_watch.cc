#include "backend/agent/silence_watch.h"

#include <algorithm>
#include <utility>

namespace xylem::backend {

void SilenceWatch::look(const Drain& drain) {
  if (!drain.control.enabled || drain.everything) return;
  bool is_any_due = false;
  for (auto& [lane, process] : processes_) {
    if (process.ended || !process.announced_world) continue;
    if (!process.silence.is_time_to_look(drain.now)) continue;
    process.silence.look(process.segment.counters().calls, drain.now);
    process.tells_silence = process.silence.is_due(drain.now);
    is_any_due |= process.tells_silence;
  }
  if (!is_any_due) return;
  for (auto& [lane, process] : processes_) {
    if (process.ended || !process.announced_world) continue;
    process.tells_silence = process.silence.is_silent(drain.now);
  }
}

void SilenceWatch::describe(const WatchedProcess& process, const WindowBuilder& builder,
                            const Drain& drain, wire::AccountRow& row) const {
  // Between two reports of the same silence nothing has changed.
  row.silent_since_ns = process.told.silent_since_ns;
  row.inside = process.told.inside;
  row.stopped = process.told.stopped;
  row.outside = process.told.outside;
  const bool is_silent = !process.ended && row.captured == process.silence.calls();
  if (is_silent && !process.tells_silence && row.captured == process.told.captured) return;
  row.silent_since_ns = 0;
  row.inside.reset();
  row.stopped = row.outside = false;
  if (!is_silent || !process.tells_silence) return;
  row.silent_since_ns = std::max<Nanos>(1, drain.run_time(process.silence.since()));
  const Whereabouts where = whereabouts(process.segment, builder, process.lane);
  row.inside = where.inside;
  row.outside = where.outside;
  row.stopped = is_stopped_(process.segment.pid(), process.segment.start_time());
}

void SilenceWatch::told(WatchedProcess& process, Nanos now) {
  if (std::exchange(process.tells_silence, false)) process.silence.told(now);
}

void SilenceWatch::tell_again() {
  for (auto& [lane, process] : processes_) process.silence.tell_again();
}

}  // namespace xylem::backend
