#pragma once

// Pairs the begins and ends of regions in a trace.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "wire/chunk.h"

namespace xylem::storage {

/// A visit of a region by a thread.
struct RegionSpan {
  ThreadIndex thread{};
  std::uint64_t region = 0;
  std::int32_t depth = 0;         ///< 0 for the outermost region, -1 for the level of MPI_Pcontrol.
  std::optional<Nanos> begin_ns;  ///< nullopt: the event of the begin was lost.
  std::optional<Nanos> end_ns;    ///< nullopt: the event of the end was lost, or there is none.
  CallSiteId site{};              ///< Where the region began; if this was lost, where it ended.
  bool operator==(const RegionSpan&) const = default;
};

/// Takes the events of one process in the order of time, see EventReader. The depth of each event
/// tells which others were lost, so a lost event affects only its own visit. A value type; not
/// thread-safe.
class RegionSpans {
 public:
  /// `event` is the begin or the end of a region; others have no effect.
  void take(const wire::Event& event);
  /// The visits that have ended since the last call, in the order of their ends.
  std::vector<RegionSpan> take_ended();
  /// The visits that have no end so far, by thread, the outermost first.
  std::vector<RegionSpan> open() const;

 private:
  struct Thread {
    std::vector<RegionSpan> open;  // With growing depth.
    std::optional<RegionSpan> level;
  };
  void begin(Thread& thread, const RegionSpan& span);
  void end(Thread& thread, RegionSpan span);

  std::map<ThreadIndex, Thread> threads_;
  std::vector<RegionSpan> ended_;
};

}  // namespace xylem::storage
