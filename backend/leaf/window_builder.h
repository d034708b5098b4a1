#pragma once

// Makes windows from records: what each process of this host did per function in a slice of time.
//
// One slice is open at a time. Records come ring by ring, each ring in its order, and belong to the
// slice in which they end:
//
//   ring 0:  r1 r2 r3 | r4        r1..r3 end in the open slice (or before it: late ones count in
//   ring 1:  r5 | r6              the open slice too), r4 and r6 end later and are not taken yet
//                     ^ so a ring's position cuts exactly between this window and the next
//
// When all rings have been read up to that point and the slice is over, the caller takes the window
// and opens the next slice. It may take the window earlier, when a ring fills up: the slice then
// continues in a further part. Pure: no clock, no shared memory.

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/leaf/time_estimate.h"
#include "backend/leaf/timed_record.h"
#include "base/clock.h"
#include "base/ids.h"
#include "capture/core/ring.h"
#include "wire/profile.h"

namespace xylem::backend {

/// The slice in which a record that ends then is counted.
constexpr std::uint64_t slice_of(Nanos end_ns, Nanos window_ns) {
  return static_cast<std::uint64_t>(end_ns / window_ns);
}

/// Collects one slice's records of all processes of a host. One thread.
///
/// Rules. Calls: the sum of `calls` of records that are not completions; those never change a count
/// of calls. Time: a record's duration; when it stands for several calls, an estimate from it
/// (backend/leaf/time_estimate.h) and the row is marked estimated. Minimum and maximum are of timed
/// calls; the histogram has the timed call in its bucket and the others in the bucket of their
/// mean. Bytes: as recorded, never scaled, completions included, since receives that sampling
/// leaves out come as completions. Matrix: a record with kRecordSend and a peer adds its bytes and
/// one message. Waits: a record with kRecordReceive and a peer adds its time; completions share the
/// time of their call evenly. Sums stop at 2^64 - 1.
class WindowBuilder {
 public:
  /// Maximum size of a group of completions. A larger one is counted in parts, each with a share of
  /// the time.
  static constexpr std::size_t kLargestGroup = 1024;

  explicit WindowBuilder(LeafId leaf) : leaf_(leaf) {}

  bool is_open() const noexcept { return open_; }
  std::uint64_t slice() const noexcept { return slice_; }
  Nanos window_ns() const noexcept { return window_ns_; }
  Nanos begin_ns() const noexcept { return static_cast<Nanos>(slice_) * window_ns_; }
  Nanos end_ns() const noexcept { return begin_ns() + window_ns_; }

  /// Opens a slice and drops the previous content. window_ns > 0.
  void open(std::uint64_t slice, Nanos window_ns);
  /// Closes the slice; its window has been taken.
  void close() noexcept { open_ = false; }

  /// Takes records of one ring from the first on and returns how many: it stops at the first one of
  /// a later slice, and before a call's completions at the end of `records` unless `complete` says
  /// that no more of them can come.
  std::size_t add(Lane lane, std::span<const TimedRecord> records, bool complete);

  /// Counts calls that will never have a record, and marks the row estimated. Their time is the
  /// mean of the function's recorded calls in this process so far; 0 when there is none.
  void add_calls(Lane lane, FunctionId function, std::uint64_t calls);

  bool empty() const noexcept { return rows_.empty(); }
  /// The approximate size of the window: the caller takes it before it grows too large.
  std::size_t approximate_bytes() const;
  /// Calls of a process, or of one of its functions, that are in this part.
  std::uint64_t calls(Lane lane) const;
  std::uint64_t calls(Lane lane, FunctionId function) const;
  /// A process has ended: frees its memory, unless it is still in this part.
  void forget(Lane lane);

  /// The window so far, its rows in order of lane and function or peer; the caller fills in
  /// `calls_so_far` and accounts. The builder keeps its content until clear(), which the caller
  /// calls when the window is journalled.
  wire::ProfileWindow build() const;
  /// Begins the next part of the slice.
  void clear();

 private:
  // What is kept of a process between windows.
  struct Process {
    std::vector<std::uint32_t> row_of;  // Function -> index into rows_ + 1.
    std::vector<std::uint32_t> rows;    // Indices into rows_.
    TimeEstimate times;
  };
  Process& process(Lane lane);
  wire::ProfileRow& row(Process& process, Lane lane, FunctionId function);
  void add_one(Process& process, Lane lane, const TimedRecord& timed, std::uint64_t sharing);
  static std::size_t group_at(std::span<const TimedRecord> records, std::size_t first);

  struct Wait {
    std::uint64_t time_ns = 0;
    std::uint64_t calls = 0;
  };
  struct Traffic {
    std::uint64_t bytes = 0;
    std::uint64_t messages = 0;
  };
  static std::uint64_t pair_key(Lane lane, std::int32_t peer) {
    return std::uint64_t{raw(lane)} << 32 | static_cast<std::uint32_t>(peer);
  }

  // Sums of pairs of a process and a peer. The pairs met last are found without a search: a
  // process has few neighbours, and its records come many at a time.
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
      Sums* sums = nullptr;  // In sums_, where they stay until clear().
    };
    std::unordered_map<std::uint64_t, Sums> sums_;
    std::array<Recent, kRecent> recent_{};
  };

  LeafId leaf_;
  bool open_ = false;
  std::uint64_t slice_ = 0;
  Nanos window_ns_ = 1;
  std::vector<wire::ProfileRow> rows_;
  std::unordered_map<std::uint32_t, Process> processes_;  // By lane.
  Pairs<Traffic> matrix_;
  Pairs<Wait> waits_;
};

}  // namespace xylem::backend
