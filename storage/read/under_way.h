#pragma once

// A call that has not returned, as far as the file of the run knows.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ids.h"

namespace xylem::storage {

/// A call that had not returned at the end of its rank's newest window. Times are ns of the run.
/// Files before schema 17 have none of these calls.
struct CallUnderWay {
  WorldId world{};
  Rank rank{};
  ThreadIndex thread{};
  std::string function, function_class;
  Nanos begin_ns = 0;
  /// The newest time at which the call is known not to have returned. While the run is in progress,
  /// this is at most about a second ago, unless the rank's host is silent.
  Nanos at_ns = 0;
  std::optional<Rank> peer = {};    ///< The other rank, if the call has exactly one.
  std::optional<CommId> comm = {};  ///< nullopt: unknown.
  bool has_ended = false;           ///< True if the process ended in this call.
  /// True if the rank's host was lost in the middle of this call. It is not known whether the call
  /// has returned since.
  bool is_host_lost = false;
  /// True if the call had not returned at `at_ns` and nothing is known to have ended it since.
  bool lasts() const { return !has_ended && !is_host_lost; }
  /// How long the call has taken until `at_ns`.
  Nanos duration_ns() const { return at_ns > begin_ns ? at_ns - begin_ns : 0; }
};

/// Returns the mean duration of calls. Returns nullopt if there are no calls. Also returns nullopt
/// if the mean would be longer than the longest call: then `time_ns` includes time of calls that
/// have not returned. This check is left out for estimated times, because an estimated mean may be
/// longer than the longest timed call.
inline std::optional<Nanos> mean_duration(std::uint64_t calls, Nanos time_ns, Nanos max_ns,
                                          bool is_estimated) {
  if (calls == 0) return std::nullopt;
  const auto mean =
      static_cast<Nanos>(static_cast<std::uint64_t>(std::max<Nanos>(time_ns, 0)) / calls);
  if (!is_estimated && mean > max_ns) return std::nullopt;
  return mean;
}

}  // namespace xylem::storage
