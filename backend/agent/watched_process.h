#pragma once

// The processes whose rings the agent drains, and the progress of each.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "backend/agent/call_sites.h"
#include "backend/agent/segment.h"
#include "backend/agent/silence.h"
#include "backend/leaf/journal.h"
#include "backend/leaf/thread_order.h"
#include "base/clock.h"
#include "base/ids.h"
#include "wire/definitions.h"
#include "wire/profile.h"

namespace xylem::backend {

/// The begin of a call, in ticks and as the time of the run that they were converted to.
struct KnownBegin {
  std::uint64_t ticks = 0;
  Nanos begin_ns = 0;
};

/// The begins of a thread's calls that were counted while they were under way. A call may last
/// longer than the clocks remember. So its begin is kept here and not converted again. Pure.
class KnownBegins {
 public:
  /// Maximum number of calls that are kept, the last one included. Chunks are made later than
  /// windows, so they need earlier calls too. If there are too many, the oldest calls and the last
  /// call are kept, because the clocks can still convert the begins of the others.
  static constexpr std::size_t kMaxCalls = 8;

  /// `for_chunks`: the records of earlier calls may still go into chunks.
  void add(std::uint64_t ticks, Nanos begin_ns, bool for_chunks) {
    if (ticks <= last_.ticks) return;
    if (!for_chunks) earlier_.clear();
    if (for_chunks && last_.ticks != 0) earlier_.push_back(last_);
    if (earlier_.size() >= kMaxCalls) earlier_.pop_back();
    last_ = {ticks, begin_ns};
  }
  /// The last call; ticks 0: there was none.
  const KnownBegin& last() const noexcept { return last_; }
  /// The oldest call whose record is not yet in both windows and chunks; if there is none, the last
  /// call. A successor needs this begin, since its clocks remember less of the past.
  const KnownBegin& oldest() const noexcept { return earlier_.empty() ? last_ : earlier_.front(); }
  /// Forgets calls that began at these ticks or before, except the last one.
  void forget_until(std::uint64_t ticks) {
    std::erase_if(earlier_, [ticks](const KnownBegin& call) { return call.ticks <= ticks; });
  }
  /// The begin of the call that began at these ticks; `otherwise` if it was never under way.
  Nanos of(std::uint64_t ticks, Nanos otherwise) const {
    if (ticks == last_.ticks && ticks != 0) return last_.begin_ns;
    for (const KnownBegin& call : earlier_) {
      if (call.ticks == ticks) return call.begin_ns;
    }
    return otherwise;
  }

 private:
  std::vector<KnownBegin> earlier_;
  KnownBegin last_;
};

/// The sums of a region that were announced last, and the ticks that its time in MPI stands for.
struct ToldRegion {
  wire::RegionSumRow row;
  std::uint64_t mpi_ticks = 0;
};
/// By ring and region.
using ToldRegions = std::map<std::pair<std::uint32_t, std::uint64_t>, ToldRegion>;

/// Position up to which the records of one ring have been read into windows.
struct RingCursor {
  std::uint64_t position = 0;  ///< Number of the next record to read into the open window.
  // The process may still be writing the completion records of one call. Then these members have
  // the position of the first of these records, their number, and the number of the drain that
  // first found them.
  std::uint64_t held_position = 0;
  std::uint64_t held_count = 0;
  std::uint64_t held_round = 0;
  ThreadOrder order;           ///< Order of the records read into windows.
  KnownBegins begins;          ///< ChunkWriter forgets calls that it has read.
  bool is_introduced = false;  ///< The window builder knows what a predecessor has counted.
  /// The thread's call under way at the last look; empty if it was in none.
  std::optional<OpenCall> open;
  /// True if the process has ended and the thread's last call is in the open window or in a
  /// journalled one.
  bool is_end_counted = false;
};

/// A watched process. The writers of a Collector share it. Each writer changes only the part that
/// is marked for it below. One exception: for records that it gives up, LossWriter also changes
/// `cursors` and `windowed`.
struct WatchedProcess {
  /// Starts reading at the segment's progress.
  WatchedProcess(Lane number, Segment mapped, Nanos now);

  /// True if, in at least one ring, records that are not journalled fill more than half of the
  /// slots.
  bool is_filling() const;
  /// Number of records that are in no chunk and can be read.
  std::uint64_t waiting_for_chunks() const;
  /// True if records remain in a ring that could not be mapped. If `chunks` is set, records that
  /// are in a window but in no chunk count too.
  bool has_unreadable(bool chunks) const;
  /// True if each record is in a journalled window or in the open window. If `chunks` is set, each
  /// record must also be in a chunk.
  bool is_read(bool chunks) const;
  /// True if definitions wait that can be announced.
  bool has_new_definitions() const { return announced_world && segment.waiting_definitions() != 0; }

  Lane lane;
  Segment segment;
  Nanos added_at;
  bool ended = false;  ///< The process has ended and writes no more records.
  /// When the process ended or capture was stopped in it, monotonic; 0: neither. No call of the
  /// process counts after this time.
  Nanos stopped_at = 0;

  // RegistrationWriter.
  bool announced = false;
  bool announced_world = false;
  bool announced_functions = false;
  std::uint64_t unreadable_definitions = 0;  ///< Times that the log of definitions was damaged.
  std::uint64_t told_lost_definitions = 0;   ///< Lost definitions that were announced.

  // RegionWriter.
  Nanos regions_told_at = 0;  ///< Monotonic.
  ToldRegions told_regions;

  // RegistrationWriter and ChunkWriter.
  CallSites call_sites;

  // WindowWriter.
  std::vector<RingCursor> cursors;
  std::uint64_t windowed = 0;  ///< Calls in journalled windows or their tombstones.
  /// True if the open window includes the process's pending calls: its calls without a record
  /// (capture/core/ring.h). They are added after the process has ended, so this window is its last.
  bool final_counted = false;
  bool is_end_told = false;  ///< The log says how the process ended.
  wire::AccountRow told;     ///< Account of the process in the last window that reported it.

  // SilenceWatch.
  Silence silence;
  bool tells_silence = false;  ///< The process's silence is reported with the next window.

  /// Run time from which the process was watched: the begin of its first call, or its registration
  /// if that was earlier. 0: not known, because a predecessor began to watch it.
  Nanos since_ns = 0;
  bool is_continued = false;  ///< A predecessor has read records of the process.

  // ChunkWriter.
  std::vector<ThreadOrder> chunk_order;  ///< For each ring: records in journalled chunks.
  Nanos chunk_since = 0;  ///< Time since which records wait for a chunk; 0: no record waits.

  // LossWriter.
  /// Time since which records of this ended process are unreadable; 0: all are readable.
  Nanos unreadable_since = 0;
};

/// All watched processes of a host, by lane. Not thread-safe. References stay valid until the
/// process is finished.
class WatchedProcesses {
 public:
  void add(WatchedProcess process);
  /// Returns nullptr for an unknown or finished lane.
  WatchedProcess* find(Lane lane);
  /// The lane must be known.
  WatchedProcess& at(Lane lane) { return processes_.at(lane); }

  /// Applies the progress in a committed entry of the journal: moves the tails of rings, and
  /// forgets finished processes.
  void apply(const Progress& progress);
  /// Adds a lane to take_finished(). The last account of its process is journalled.
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
