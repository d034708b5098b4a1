#pragma once

// The hosts of a recorded run, with the values that the run's placement used. `xylem place
// --recorded` computes a placement from them.

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
    /// Names and values of the host's measurements, sorted by name. They are not checked: a name
    /// may be unknown, and a value may be impossible.
    std::vector<std::pair<std::string, double>> values;
  };
  std::vector<Host> hosts;     ///< In the order of leaves. Two hosts may have the same name.
  std::string front_end_host;  ///< Empty: unknown.
};

/// If the run's placement used measurements, returns the hosts, processes and values of the
/// placement. For any other run, returns the hosts of the agents, the number of ranks on each, and
/// the newest values. Fails if the file cannot be read (see RunFile::query). A run without hosts is
/// not an error.
Result<RecordedHosts> read_recorded_hosts(RunFile& run);

}  // namespace xylem::storage
