#pragma once

// Makes windows from records. A window has the sums for each process and function of this host in
// one slice of time.
//
// Only one slice is open at a time. Records come ring by ring. Within a ring they come in order. A
// record is taken in the slice in which it ends, and there its call counts:
//
//   ring 0:  r1 r2 r3 | r4        r1, r2, r3 and r5 end in the open slice. r4 and r6 end later and
//   ring 1:  r5 | r6              are not taken yet. So a ring's position separates this window
//               ^                 exactly from the next.
//
// A late record (it ends before the open slice) is taken in the open slice too.
//
// The time of a call counts in the slices in which it passes. So it is cut at the borders of
// slices:
//
//   slice   |    1    |    2    |    3    |     At the end of slice 1 the call is under way, and
//   call    |     [###|#########|##]      |     charge_open() counts its first part. At the end of
//                                               slice 2 it counts the second part. When the record
// comes in slice 3, only the rest is counted. Time that becomes known only after its slice was
// taken goes into an earlier row (wire::EarlierRow). So the sum over all slices is the duration.
//
// The slice is complete when it is over and all rings have been read up to its end. Then the caller
// takes the window and opens the next slice. If a ring fills, the caller may take the window
// earlier; then the slice continues in a further part. WindowBuilder is pure: it uses no clock and
// no shared memory.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "backend/leaf/slice_room.h"
#include "backend/leaf/time_estimate.h"
#include "backend/leaf/timed_record.h"
#include "base/clock.h"
#include "base/ids.h"
#include "capture/core/ring.h"
#include "wire/profile.h"

namespace xylem::backend {

/// The slice of a record that ends at `end_ns`.
constexpr std::uint64_t slice_of(Nanos end_ns, Nanos window_ns) {
  return static_cast<std::uint64_t>(end_ns / window_ns);
}

/// Collects one slice's records of all processes of a host. Not thread-safe.
///
/// - Calls: the sum of `calls` of all records, and the calls of add_calls(). Completions do not
///   count.
/// - Time: the duration of a record, less what charge_open() has counted. If the record represents
///   several calls, the time is an estimate (backend/leaf/time_estimate.h), and the row is marked
///   estimated. The estimate is spread over the slices in which the calls may have been made
///   (backend/leaf/slice_room.h). Completions do not count.
/// - Minimum and maximum: those of timed calls, and the mean time of calls added by add_calls().
/// - Histogram: a timed call counts in the bucket of its duration. The other calls of the record
///   count in the bucket of their mean time.
/// - Bytes: the sum of recorded bytes, never scaled. Completions count too: sampling may leave out
///   the record of a call, but the call's payload then has a completion record.
/// - Matrix: a record with kRecordSend and a peer adds its bytes and one message.
/// - Waits: a record with kRecordReceive and a peer adds its time. The receive completions of one
///   call share its time evenly.
///
/// Sums stop at 2^64 - 1.
class WindowBuilder {
 public:
  /// If `records` ends with at least this many completions of one call, add() counts them without
  /// waiting for the rest. When the window is built, the receives of all parts so far share the
  /// call's time. Receives of later parts, in the next window, get no time.
  static constexpr std::size_t kLargestGroup = 1024;

  /// Maximum number of earlier slices that the time of one call is cut into: an hour of windows of
  /// 250 ms. Older time counts in the oldest of them. Older time exists only if the agent was
  /// stopped for more than an hour, or if a process is hostile.
  static constexpr std::uint64_t kMaxEarlierSlices = 14'400;

  /// How to count records of one thread that overlap in time.
  enum class Overlap {
    kCountsTwice,  ///< An event source may define its threads as it likes.
    kCountsOnce,   ///< A thread's time is at most the time that has passed.
  };
  /// The window is full when it has about `max_bytes`: see is_full().
  explicit WindowBuilder(LeafId leaf, Overlap overlap = Overlap::kCountsTwice,
                         std::size_t max_bytes = std::numeric_limits<std::size_t>::max())
      : leaf_(leaf), overlap_counts_once_(overlap == Overlap::kCountsOnce), max_bytes_(max_bytes) {}

  bool is_open() const noexcept { return open_; }
  std::uint64_t slice() const noexcept { return slice_; }
  Nanos window_ns() const noexcept { return window_ns_; }
  Nanos begin_ns() const noexcept { return static_cast<Nanos>(slice_) * window_ns_; }
  Nanos end_ns() const noexcept { return begin_ns() + window_ns_; }

  /// Opens a slice and drops the previous content. `window_ns` must be positive.
  void open(std::uint64_t slice, Nanos window_ns);
  /// Closes the slice; its window has been taken.
  void close() noexcept { open_ = false; }

  /// Takes records of one ring, from the first on, and returns how many it has taken. It stops at
  /// the first record of a later slice. If `records` ends with completions of a call, more of them
  /// may follow. So add() stops before these completions, unless there are kLargestGroup of them.
  /// If `complete` is true, no more can follow, and add() takes these completions too. It also
  /// stops when earlier rows have made the window full. Then the caller takes the window first.
  ///
  /// Time that charge_open() has counted is not counted again. With kCountsOnce, this is also true
  /// of the time up to the end of the thread's latest record. So no record, whatever it claims,
  /// makes add() visit a slice again.
  std::size_t add(Lane lane, std::span<const TimedRecord> records, bool complete);

  /// A call that has begun and has no record yet. Times are of the run.
  struct Open {
    ThreadIndex thread{};
    FunctionId function{};
    Nanos begin_ns = 0;
    std::int32_t peer = capture::kNoPeer;
    CommId comm = wire::kNoComm;
  };
  /// Counts the time of an open call up to `until`, at most up to the slice's end, and lists the
  /// call as under way. Time that was counted before is not counted again. Does nothing if the call
  /// begins at `until` or later, or if `until` is not after the slice's begin: then it is not known
  /// whether the thread was in the call in this slice. Call it when the slice is over, once for
  /// each thread that was in a call at the slice's end.
  void charge_open(Lane lane, const Open& call, Nanos until);
  /// Empties the list of calls under way, so that it can be made again. Calls of end_open() stay.
  void clear_under_way() { under_way_.clear(); }
  /// The time up to which open calls of the thread were counted, and with kCountsOnce all calls; 0:
  /// never.
  Nanos charged_until(Lane lane, ThreadIndex thread) const;
  /// Continues the work of another builder: the thread's calls were counted up to
  /// `charged_until`, and records of the thread were taken.
  void resume(Lane lane, ThreadIndex thread, Nanos charged_until);
  /// Call it when the run's clock has stepped back and continues from `run_time`. A thread follows
  /// the step at its first record or call with a time that was already counted before the step.
  /// From then on, its time counts from `run_time` on.
  void step_back(Nanos run_time);
  /// Counts a call in which the process has died at `until`, and lists the call. It has no record.
  /// Its row is marked estimated, because the call might have taken longer.
  void end_open(Lane lane, const Open& call, Nanos until);

  /// Counts calls that will never have a record, and marks the row estimated. Their time is
  /// estimated with the mean time of the function's recorded calls, but limited to the threads'
  /// free time up to `until`: see TimeEstimate::of_unrecorded(). These calls count in minimum,
  /// maximum and histogram with their mean time.
  void add_calls(Lane lane, FunctionId function, std::uint64_t calls, Nanos until);

  bool empty() const noexcept { return rows_.empty() && earlier_.empty() && under_way_.empty(); }
  /// The approximate size of the window.
  std::size_t approximate_bytes() const;
  /// True if the caller must take the window before anything is added. One record or one call may
  /// add kMaxEarlierSlices earlier rows, about 700 KiB.
  bool is_full() const { return approximate_bytes() >= max_bytes_; }
  /// Number of calls of a process, or of one of its functions, in this part.
  std::uint64_t calls(Lane lane) const;
  std::uint64_t calls(Lane lane, FunctionId function) const;
  /// Frees the memory of a process that has ended. Does nothing while the process still has rows in
  /// this part.
  void forget(Lane lane);

  /// The window so far. Its rows are in the order of lane, then function or peer. The caller fills
  /// in `calls_so_far` and the accounts. Shares the time of calls whose completions came in parts
  /// (kLargestGroup). The builder keeps its content until clear(). Call clear() when the window is
  /// journalled.
  wire::ProfileWindow build();
  /// Begins the next part of the slice.
  void clear();

 private:
  // A call whose completions are counted in parts. Its time is in no wait until share_time().
  struct LargeGroup {
    std::uint64_t begin = 0, end = 0;  // As in the call's records.
    std::uint16_t function = 0;
    std::uint64_t time_ns = 0;  // 0 when it has been shared.
    std::uint64_t receives = 0;
    std::unordered_map<std::int32_t, std::uint64_t> receives_from;  // By peer.
  };
  // Data of a process that is kept between windows.
  struct ThreadTime {
    Nanos charged_until = 0;  // Calls are counted up to this time.
    bool is_resumed = false;
    bool has_step = false;  // The clock has stepped back, and the thread has not followed yet.
    Nanos step_to = 0;
    SliceRoom room;
  };
  struct Process {
    std::vector<std::uint32_t> row_of;  // For each function, the index into rows_ plus 1; 0: none.
    std::vector<std::uint32_t> rows;    // The process's indices into rows_.
    TimeEstimate times;
    std::vector<ThreadTime> threads;                    // By thread.
    std::unordered_map<ThreadIndex, LargeGroup> large;  // The last one of each thread.
  };
  Process& process(Lane lane);
  wire::ProfileRow& row(Process& process, Lane lane, FunctionId function);
  // `sharing`: the number of receives that share the time; 0: none of it goes to this one.
  void add_one(Process& process, Lane lane, const TimedRecord& timed, std::uint64_t sharing);
  std::uint64_t count_time(Process& process, const TimedRecord& timed, wire::ProfileRow& row,
                           std::uint64_t calls);
  wire::UnderWayRow listed(Lane lane, const Open& call) const;
  static ThreadTime& thread_of(Process& process, ThreadIndex thread);
  static void follow_step(ThreadTime& thread, Nanos until);
  void charge(wire::ProfileRow& row, ThreadTime& thread, Nanos from, Nanos to);
  void charge_earlier(const wire::ProfileRow& row, ThreadTime& thread, Nanos from, Nanos to);
  std::uint64_t spread(wire::ProfileRow& row, ThreadTime& thread, Nanos from, Nanos to,
                       Nanos charged_until, std::uint64_t time);
  void add_earlier(const wire::ProfileRow& row, std::uint64_t slice, std::uint64_t time,
                   bool estimated);
  void add_group(Process& process, Lane lane, std::span<const TimedRecord> group, bool goes_on);
  LargeGroup* find_large(Process& process, Lane lane, const TimedRecord& first, bool goes_on);
  void share_time(Lane lane, LargeGroup& group);
  static std::size_t group_at(std::span<const TimedRecord> records, std::size_t first);

  struct Wait {
    std::uint64_t time_ns = 0;
    std::uint64_t calls = 0;
  };
  struct Earlier {
    std::uint64_t time_ns = 0;
    bool estimated = false;
  };
  struct Traffic {
    std::uint64_t bytes = 0;
    std::uint64_t messages = 0;
  };
  static std::uint64_t pair_key(Lane lane, std::int32_t peer) {
    return std::uint64_t{raw(lane)} << 32 | static_cast<std::uint32_t>(peer);
  }

  // Sums for pairs of a process and a peer. The most recent pairs are in a small cache. The cache
  // works well because a process has few neighbours.
  template <typename Sums>
  class Pairs {
   public:
    Sums& of(Lane lane, std::int32_t peer) {
      const std::uint64_t key = pair_key(lane, peer);
      Recent& recent = recent_[key % kRecent];
      if (recent.sums == nullptr || recent.key != key) recent = {key, &sums_[key]};
      return *recent.sums;
    }
    void clear() {
      sums_.clear();
      recent_.fill({});
    }
    std::size_t size() const { return sums_.size(); }
    std::map<std::uint64_t, Sums> in_order() const { return {sums_.begin(), sums_.end()}; }

   private:
    static constexpr std::size_t kRecent = 64;
    struct Recent {
      std::uint64_t key = 0;
      Sums* sums = nullptr;  // Points into sums_; valid until clear().
    };
    std::unordered_map<std::uint64_t, Sums> sums_;
    std::array<Recent, kRecent> recent_{};
  };

  LeafId leaf_;
  bool overlap_counts_once_;
  std::size_t max_bytes_;
  bool open_ = false;
  std::uint64_t slice_ = 0;
  Nanos window_ns_ = 1;
  std::vector<wire::ProfileRow> rows_;
  std::unordered_map<std::uint32_t, Process> processes_;  // By lane.
  Pairs<Traffic> matrix_;
  Pairs<Wait> waits_;
  std::map<std::tuple<Lane, FunctionId, std::uint64_t>, Earlier> earlier_;  // Third: slice.
  std::vector<wire::UnderWayRow> under_way_;
  std::vector<wire::UnderWayRow> ended_in_;  // Calls in which their processes have died.
};

}  // namespace xylem::backend
