#pragma once

// The auxiliary services that a configuration file names:
//
//   [service.host]                      # built in, as is [service.process]
//   interval = "1s"                     # 100ms to 1h; default 1s
//
//   [service.gpu-power]                 # any other name: a program, run once an interval
//   exec = "/opt/site/gpu-power --all"  # absolute path, arguments, separated by blanks; no shell
//   timeout = "5s"                      # default 10s

#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "wire/series.h"

namespace xylem::frontend {

/// True for a key of a service's section, right or wrong: read_services() judges it.
bool is_service_key(std::string_view key);

/// By name. Keys of other sections are skipped; `path` is the file's name in errors.
/// Fails with kInvalidArgument and "PATH:LINE: why": an invalid name (wire::is_service_name),
/// an unknown key, an interval or timeout out of range, a program without an absolute path or for a
/// built-in service, a second program, a timeout for a built-in service, a service that is neither
/// built in nor has a program, or too many services.
Result<std::vector<wire::ServiceSpec>> read_services(const std::vector<ConfigEntry>& entries,
                                                     const std::string& path);

/// As sections of a file that name the same services; empty for none.
std::string print_services(const std::vector<wire::ServiceSpec>& services);

}  // namespace xylem::frontend
