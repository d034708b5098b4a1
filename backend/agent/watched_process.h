#pragma once

// The processes whose rings the agent drains, and how far it has come with each.

#include <cstdint>
#include <map>
#include <vector>

#include "backend/agent/segment.h"
#include "backend/agent/silence.h"
#include "backend/leaf/journal.h"
#include "base/clock.h"
#include "base/ids.h"
#include "wire/profile.h"

namespace xylem::backend {

/// How far the records of one ring have been read into windows.
struct RingCursor {
  std::uint64_t position = 0;  ///< Read into the open window.
  // An unfinished group of completions: its position, its length, and the drain that found it.
  std::uint64_t held_position = 0;
  std::uint64_t held_count = 0;
  std::uint64_t held_round = 0;
};

/// One process. The writers of a Collector share it; each changes only its own part, which is
/// marked below.
struct WatchedProcess {
  /// Continues where the segment's progress says.
  WatchedProcess(Lane number, Segment mapped, Nanos now);

  /// A ring is more than half full of records that are not journalled.
  bool is_filling() const;
  /// Records that are in no chunk and can be read.
  std::uint64_t waiting_for_chunks() const;
  /// Records remain in a ring that could not be mapped; `chunks`: those without a chunk count too.
  bool has_unreadable(bool chunks) const;
  /// No record remains, readable or not.
  bool is_read(bool chunks) const;

  Lane lane;
  Segment segment;
  Nanos added_at;
  bool ended = false;  ///< No more records follow those in its rings.

  // RegistrationWriter.
  bool announced = false;
  bool announced_world = false;
  bool announced_functions = false;

  // WindowWriter.
  std::vector<RingCursor> cursors;
  std::uint64_t windowed = 0;  ///< Calls in journalled windows.
  bool final_counted = false;  ///< Its pending calls are in the open window: its last one.
  wire::AccountRow told;       ///< In the last window with an account of it.

  // SilenceWatch.
  Silence silence;
  bool tells_silence = false;  ///< With the next window.

  // ChunkWriter.
  Nanos chunk_since = 0;  ///< Since when records wait for a chunk; 0: none waits.

  // LossWriter.
  Nanos unreadable_since = 0;  ///< Since when only unmapped rings have records; 0: not so.
};

/// All watched processes of a host, by lane. One thread. References stay valid until the process is
/// finished.
class WatchedProcesses {
 public:
  void add(WatchedProcess process);
  /// nullptr: unknown, or finished.
  WatchedProcess* find(Lane lane);
  /// The lane must be known.
  WatchedProcess& at(Lane lane) { return processes_.at(lane); }

  /// What was journalled: moves the tails of rings and forgets processes that are finished.
  void apply(const Progress& progress);
  /// The lane is accounted for: it will be in take_finished().
  void note_finished(Lane lane) { finished_.push_back(lane); }
  std::vector<Lane> take_finished();

  std::size_t size() const noexcept { return processes_.size(); }
  auto begin() { return processes_.begin(); }
  auto end() { return processes_.end(); }
  auto begin() const { return processes_.begin(); }
  auto end() const { return processes_.end(); }

 private:
  std::map<Lane, WatchedProcess> processes_;
  std::vector<Lane> finished_;
};

}  // namespace xylem::backend
