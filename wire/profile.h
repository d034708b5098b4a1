#pragma once

// Payload of the window stream: the calls of each process in a slice of time, by function.

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/packet.h"

namespace xylem::wire {

/// Counts durations in buckets. Bucket 0 counts durations of 0 ns. Bucket b counts durations from
/// 2^(b-1) to 2^b - 1 ns. A value type; not thread-safe.
class LogHistogram {
 public:
  static constexpr std::size_t kBuckets = 65;

  void add(std::uint64_t ns, std::uint64_t count = 1) { counts_[bucket_of(ns)] += count; }
  void merge(const LogHistogram& other);
  std::uint64_t count(std::size_t bucket) const { return counts_[bucket]; }
  std::uint64_t total() const;
  /// Returns an upper bound of the q-quantile in ns (0 <= q <= 1): the end of the quantile's
  /// bucket. It is at most twice the quantile. Returns 0 if the histogram is empty or the quantile
  /// is 0 ns. The last bucket has no end; for this bucket, returns the largest number.
  std::uint64_t quantile_bound(double q) const;

  static std::size_t bucket_of(std::uint64_t ns) {
    return static_cast<std::size_t>(std::bit_width(ns));
  }

  /// Returns the format in files and messages. It has the bucket's number (1 byte) and count
  /// (LEB128) for each bucket that is not empty, in ascending order.
  Bytes to_bytes() const;
  /// Fails with kCorrupt if the bytes are not a histogram.
  static Result<LogHistogram> from_bytes(std::span<const std::byte> bytes);

  bool operator==(const LogHistogram&) const = default;

 private:
  std::array<std::uint64_t, kBuckets> counts_{};
};

/// One function of one process in one window.
struct ProfileRow {
  LeafId leaf{};
  Lane lane{};
  FunctionId function{};
  bool estimated = false;  ///< True if times are scaled up from sampled calls.
  std::uint64_t calls = 0;
  /// Calls of this function by this process so far, this window included.
  std::uint64_t calls_so_far = 0;
  /// Sum over all calls. `min_ns` and `max_ns` are the shortest and the longest single call.
  std::uint64_t time_ns = 0;
  std::uint64_t min_ns = 0;
  std::uint64_t max_ns = 0;
  std::uint64_t bytes = 0;
  LogHistogram histogram;
  bool operator==(const ProfileRow&) const = default;
};

/// Point-to-point payload that a process sent to a world rank in this window.
struct MatrixRow {
  LeafId leaf{};
  Lane lane{};
  Rank destination{};
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
  bool operator==(const MatrixRow&) const = default;
};

/// Time that a process spent in this window in calls that received from a world rank. These calls
/// are blocking receives, and waits that completed a receive. If a wait completed several receives,
/// its time is divided evenly among them.
struct WaitRow {
  LeafId leaf{};
  Lane lane{};
  Rank peer{};
  std::uint64_t time_ns = 0;
  std::uint64_t calls = 0;
  bool operator==(const WaitRow&) const = default;
};

/// Time in a function that belongs to an earlier window, but became known only after that window
/// was sent. It is added to the time of that window. It counts no calls: a call counts in the
/// window in which it ends. Examples are the part of MPI_Init before the rank was known, and the
/// calls of a sampled function between two records.
struct EarlierRow {
  LeafId leaf{};
  Lane lane{};
  FunctionId function{};
  bool estimated = false;
  Nanos begin_ns = 0;  ///< The earlier window.
  Nanos end_ns = 0;
  std::uint64_t time_ns = 0;
  bool operator==(const EarlierRow&) const = default;
};

/// A call that had not returned at the end of the window. It is sent again with each window until
/// it returns. If the process ended in the call, the process's last window has it too. Its time in
/// this window is in a ProfileRow.
struct UnderWayRow {
  LeafId leaf{};
  Lane lane{};
  ThreadIndex thread{};
  FunctionId function{};
  Nanos begin_ns = 0;
  std::optional<Rank> peer;    ///< The other side or the root; nullopt: none, or not known.
  std::optional<CommId> comm;  ///< nullopt: not known.
  bool operator==(const UnderWayRow&) const = default;
};

struct LossRow {
  FunctionId function{};
  std::uint64_t calls = 0;
  bool operator==(const LossRow&) const = default;
};

/// Counters of a process at the end of the window. Later rows replace earlier ones.
struct AccountRow {
  LeafId leaf{};
  Lane lane{};
  std::uint64_t captured = 0;  ///< Calls, counted by the process itself.
  std::uint64_t lost = 0;      ///< Calls without a record because the ring was full.
  std::uint64_t windowed = 0;  ///< Calls in all windows so far, including this window.
  std::uint64_t events = 0;    ///< Records in chunks so far.
  std::uint64_t event_calls = 0;
  /// Number of sends that have no record because the ring was full. No matrix row includes them.
  std::uint64_t lost_messages = 0;
  std::uint64_t lost_message_bytes = 0;
  /// Receives that have no record because the ring was full. No wait row includes them.
  std::uint64_t lost_receives = 0;
  /// Parts of calls that have no record for the same reason: starts and completions of requests,
  /// and blocks of collectives. Sends and receives of messages are not included.
  std::uint64_t lost_parts = 0;
  /// Receives whose completion the capture library could not track.
  std::uint64_t untracked_receives = 0;
  bool ended = false;  ///< True if the process has ended; these counters are then final.
  /// Start of the process's silence (no calls), in the run's time. A silence is first reported
  /// after some seconds, then repeatedly. 0 if the process makes calls, or if this was not checked.
  /// The next three fields are valid only if this field is not 0.
  Nanos silent_since_ns = 0;
  /// Function of the call that has not returned; nullopt if the process is outside MPI, or if this
  /// is unknown.
  std::optional<FunctionId> inside;
  bool stopped = false;  ///< True if a signal has stopped the process.
  bool outside = false;  ///< True if the process is certainly in no call.
  std::vector<LossRow> loss_by_function;
  /// The time in which the process was watched: from its first call or its registration until its
  /// end. `since_ns` is 0 if an older agent sent the row; `until_ns` is 0 while the process runs.
  Nanos since_ns = 0;
  Nanos until_ns = 0;
  std::uint32_t threads = 0;  ///< Number of rings: threads that called MPI at the same time.
  bool operator==(const AccountRow&) const = default;
};

struct ProfileWindow {
  Nanos begin_ns = 0;  ///< Since the run's epoch.
  Nanos end_ns = 0;
  std::vector<ProfileRow> rows;
  std::vector<MatrixRow> matrix;
  std::vector<AccountRow> accounts;
  std::vector<WaitRow> waits;
  std::vector<UnderWayRow> under_way;
  std::vector<EarlierRow> earlier;
  bool operator==(const ProfileWindow&) const = default;
};

/// Encodes a window as a flat Cap'n Proto segment.
Bytes encode(const ProfileWindow& window);
/// Fails with kCorrupt if the bytes are not a window, or if the window ends before it begins. Also
/// fails if a row has lane 0 (no process) or an invalid histogram, or if an earlier window ends
/// before it begins. Allocates at most about ten
/// times the bytes.
Result<ProfileWindow> decode_profile_window(std::span<const std::byte> payload);

}  // namespace xylem::wire
