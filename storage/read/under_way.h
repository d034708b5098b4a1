#pragma once

// A call that has not returned, as far as the file of the run knows.

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
  std::uint32_t thread = 0;
  std::string function, function_class;
  Nanos begin_ns = 0;
  /// The newest time at which the call is known not to have returned. While the run is in progress,
  /// this is at most about a second ago, unless the rank's host is silent.
  Nanos at_ns = 0;
  std::optional<Rank> peer = {};           ///< The other rank, if the call has exactly one.
  std::optional<std::uint32_t> comm = {};  ///< Identity of the communicator; nullopt: unknown.
  bool has_ended = false;                  ///< True if the process ended in this call.
  /// How long the call has taken until `at_ns`.
  Nanos duration_ns() const { return at_ns > begin_ns ? at_ns - begin_ns : 0; }
};

}  // namespace xylem::storage
