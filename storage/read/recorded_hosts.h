#pragma once

// The hosts of a recorded run, as its placement saw them. `xylem place --recorded` places them
// again.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "storage/read/query.h"

namespace xylem::storage {

struct RecordedHosts {
  struct Host {
    std::string name;
    std::uint64_t processes = 0;
    /// Names and values of what was measured, in the order of names. The names may be unknown and
    /// the values impossible.
    std::vector<std::pair<std::string, double>> values;
  };
  std::vector<Host> hosts;     ///< In the order of leaves. Two may have the same name.
  std::string front_end_host;  ///< Empty: unknown.
};

/// If the run was placed by measurements, returns the hosts, processes and values of its placement.
/// For any other run: the hosts of its agents, the number of their ranks, and the newest values.
/// Fails like RunFile::query. No hosts are not an error.
Result<RecordedHosts> read_recorded_hosts(RunFile& run);

}  // namespace xylem::storage
