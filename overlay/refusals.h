#pragma once

// Connections turned away: counted each once, and told without flooding whoever reads the log.
//
//   WARN connection refused from=10.0.0.9:40112 why="no proof of the key in time"
//   WARN more connections refused count=699 within_s=10

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"

namespace xylem::overlay {

/// What add() is told is counted; of each reason the first is logged, of the others how many there
/// were, once each kInterval while they go on. Strangers may have a hand in a reason, so only the
/// first kReasons that differ are told apart. Reasons are fresh again once an interval had nothing
/// to tell. One thread; the caller's clock and timer.
class Refusals {
 public:
  static constexpr Nanos kInterval = 10 * kSecond;
  static constexpr std::size_t kReasons = 8;

  /// `from` was turned away at `now` (monotonic).
  void add(const std::string& from, const std::string& why, Nanos now);

  /// When tell() is to be called; none: there is nothing to tell.
  std::optional<Nanos> due() const;

  /// Logs how many there were beside those logged; nothing when there were none.
  void tell(Nanos now);

  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t untold_ = 0;
  std::optional<Nanos> since_;     // The interval's begin.
  std::set<std::string> reasons_;  // Logged in this interval and those that it follows on.
};

}  // namespace xylem::overlay
