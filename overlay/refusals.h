#pragma once

// Counts refused connections and logs them without flooding the log.
//
//   WARN connection refused from=10.0.0.9:40112 why="no proof of the key in time"
//   WARN more connections refused count=699 within_s=10

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"

namespace xylem::overlay {

/// Counts refusals. The first refusal with each reason is logged immediately. All other refusals
/// are only counted, and their number is logged once in every kInterval. Unknown peers can
/// influence the text of a reason. So only the first kReasons different reasons are logged. If all
/// refusals of an interval were logged, all reasons count as new in the next interval. Not
/// thread-safe. The caller provides the time and the timer.
class Refusals {
 public:
  static constexpr Nanos kInterval = 10 * kSecond;
  static constexpr std::size_t kReasons = 8;

  /// Counts a refusal of the peer `from` at `now` (monotonic).
  void add(const std::string& from, const std::string& why, Nanos now);

  /// Returns the time at which to call tell(); nullopt if there is nothing to log.
  std::optional<Nanos> due() const;

  /// Logs the number of refusals that are not logged yet, if it is not 0.
  void tell(Nanos now);

  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t untold_ = 0;
  std::optional<Nanos> since_;  // Start of the interval.
  // Reasons logged in this interval and in the intervals directly before it.
  std::set<std::string> reasons_;
};

}  // namespace xylem::overlay
