#pragma once

// The machine for which a run is predicted, as a TOML file:
//
//   [network]                    # LogGPS, see network/loggps.h
//   latency_ns = 2500            # L
//   overhead_ns = 1500           # o
//   gap_ns = 1000                # g
//   gap_per_byte_ns = 0.18       # G
//   overhead_per_byte_ns = 0     # O
//   eager_bytes = 65535          # S
//
//   [node]
//   flops_per_ns = 4             # only for time-independent traces; 1 if it is left out
//
//   [collectives]                # may be left out
//   choice = "mpich"             # or "openmpi": who chooses the algorithms, see
//   collectives/choice.h reduce_ns_per_byte = 0.1     # time to reduce a byte with another one; 0
//   if it is left out bcast = "binomial"           # this algorithm for all calls; names as in
//   collectives/schedule.h

#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "predict/collectives/choice.h"
#include "predict/network/loggps.h"

namespace xylem::predict {

/// The target. The defaults of a file are those of this struct, but a file has all keys of the
/// network.
struct Target {
  LogGps network;
  /// Floating-point operations that a processor makes in a nanosecond. Above 0.
  double flops_per_ns = 1;
  CollectiveModel collectives;

  bool operator==(const Target&) const = default;
};

/// Reads the entries of a file. `name` is the file's name in error messages. Fails with
/// kInvalidArgument and "NAME:LINE: what, and what to do" on an unknown key, a value that is not
/// possible, and a missing key of the network.
Result<Target> read_target(const std::vector<ConfigEntry>& entries, std::string_view name);

}  // namespace xylem::predict
