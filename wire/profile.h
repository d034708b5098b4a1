#pragma once

// Payload of the window stream: what each process did per function in a slice of time.

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

/// Counts of durations by powers of two: bucket 0 holds 0 ns, bucket b holds [2^(b-1), 2^b) ns.
class LogHistogram {
 public:
  static constexpr std::size_t kBuckets = 65;

  void add(std::uint64_t ns, std::uint64_t count = 1) { counts_[bucket_of(ns)] += count; }
  void merge(const LogHistogram& other);
  std::uint64_t count(std::size_t bucket) const { return counts_[bucket]; }
  std::uint64_t total() const;
  /// An upper bound of the q-quantile in ns (0 <= q <= 1): the end of its bucket, so at most twice
  /// the quantile. 0 when the histogram is empty or the quantile is 0 ns; the largest number for
  /// the last bucket, which has no end.
  std::uint64_t quantile_bound(double q) const;

  static std::size_t bucket_of(std::uint64_t ns) {
    return static_cast<std::size_t>(std::bit_width(ns));
  }

  /// The stored and sent form: for each bucket that is not empty, its number (1 byte) and its count
  /// (LEB128), ascending.
  Bytes to_bytes() const;
  /// Fails with kCorrupt.
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
  bool estimated = false;  ///< Times are scaled up from sampled calls.
  std::uint64_t calls = 0;
  std::uint64_t calls_so_far = 0;  ///< Of this function and process, this window included.
  std::uint64_t time_ns = 0;       ///< Sum; min and max are of single calls.
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

/// Time that a process spent in this window in calls that received from a world rank: a blocking
/// receive, or a wait that completed one (shared evenly when it completed several).
struct WaitRow {
  LeafId leaf{};
  Lane lane{};
  Rank peer{};
  std::uint64_t time_ns = 0;
  std::uint64_t calls = 0;
  bool operator==(const WaitRow&) const = default;
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
  std::uint64_t captured = 0;  ///< Calls, by the process's own counters.
  std::uint64_t lost = 0;      ///< Calls that met a full ring.
  std::uint64_t windowed = 0;  ///< Calls in windows so far, this one included.
  std::uint64_t events = 0;    ///< Records in chunks so far.
  std::uint64_t event_calls = 0;
  std::uint64_t lost_messages = 0;  ///< Sends whose record met a full ring: in no matrix row.
  std::uint64_t lost_message_bytes = 0;
  std::uint64_t lost_receives = 0;       ///< Receives whose record met a full ring: in no wait row.
  std::uint64_t untracked_receives = 0;  ///< Receives whose completion could not be followed.
  bool ended = false;                    ///< The process is gone; these are final.
  /// The process has made no call since this time of the run; 0: it makes calls, or this was not
  /// checked. Reported some seconds later, and repeated. The next three fields are valid while it
  /// is not 0.
  Nanos silent_since_ns = 0;
  std::optional<FunctionId> inside;  ///< The call that has not returned; none: outside, or unknown.
  bool stopped = false;              ///< By a signal.
  bool outside = false;              ///< It is in no call; also false when unknown.
  std::vector<LossRow> loss_by_function;
  bool operator==(const AccountRow&) const = default;
};

struct ProfileWindow {
  Nanos begin_ns = 0;  ///< Since the run's epoch.
  Nanos end_ns = 0;
  std::vector<ProfileRow> rows;
  std::vector<MatrixRow> matrix;
  std::vector<AccountRow> accounts;
  std::vector<WaitRow> waits;
  bool operator==(const ProfileWindow&) const = default;
};

/// A flat Cap'n Proto segment.
Bytes encode(const ProfileWindow& window);
/// Fails with kCorrupt: bytes that are not a window, a window that ends before it begins, a row
/// with lane 0 (no process), an invalid histogram. Allocates at most about ten times the bytes.
Result<ProfileWindow> decode_profile_window(std::span<const std::byte> payload);

}  // namespace xylem::wire
