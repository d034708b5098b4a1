#pragma once

// The auxiliary services that a configuration file names:
//
//   [service.host]                      # built in, as is [service.process]
//   interval = "1s"                     # 100ms to 1h; 1s when left out
//
//   [service.gpu-power]                 # any other name: a program, run once an interval
//   exec = "/opt/site/gpu-power --all"  # absolute path, arguments, separated by blanks; no shell
//   timeout = "5s"                      # 10s when left out

#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "wire/series.h"

namespace xylem::frontend {

/// True for a key of a service's section, right or wrong: read_services() judges it.
bool is_service_key(std::string_view key);

/// By name. Keys of other sections are passed over; `path` is what errors call the file.
/// Fails with kInvalidArgument and "PATH:LINE: why" on a name that is none (wire::is_service_name),
/// an unknown key, an interval or time-out out of range, a program without an absolute path or of a
/// built-in service, a second program, a time-out of a built-in service, a service that is neither
/// built in nor has a program, and too many services.
Result<std::vector<wire::ServiceSpec>> read_services(const std::vector<ConfigEntry>& entries,
                                                     const std::string& path);

/// As sections of a file that name the same services; empty for none.
std::string print_services(const std::vector<wire::ServiceSpec>& services);

}  // namespace xylem::frontend
