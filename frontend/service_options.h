#pragma once

// The auxiliary services of a run: the built-in ones of `--services`, and those of a configuration
// file:
//
//   [service.host]                      # a built-in service; the other one is
//                                       # [service.process]
//   interval = "1s"                     # 100ms to 1h; default 1s
//
//   [service.gpu-power]                 # any other name: a program, run once in each interval
//   exec = "/opt/site/gpu-power --all"  # absolute path and arguments; no shell reads this
//   timeout = "5s"                      # default 10s

#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "wire/series.h"

namespace xylem::frontend {

/// Returns true for a key of a service's section, even if read_services() would refuse the key.
bool is_service_key(std::string_view key);

/// Reads the services, sorted by name. Skips keys of other sections. `path` is the file's name in
/// error messages.
///
/// Fails with kInvalidArgument and "PATH:LINE: why"
/// - if a name is invalid (wire::is_service_name), a key is unknown, or an interval or a timeout is
///   out of range;
/// - if a program's path is not absolute;
/// - if a service that is not built in has no program, or several programs;
/// - if a built-in service has a program or a timeout;
/// - if there are too many services.
Result<std::vector<wire::ServiceSpec>> read_services(const std::vector<ConfigEntry>& entries,
                                                     const std::string& path);

/// Reads a list of built-in services: "host", "process", both with a comma between them, or "none".
/// Fails with kInvalidArgument for any other text.
Result<std::vector<std::string>> read_built_in_services(const std::string& list);

/// Adds the built-in services `names` that `services` does not have, with the default interval.
/// Keeps the order of names. Adds no service beyond the maximum number.
void add_built_in_services(const std::vector<std::string>& names,
                           std::vector<wire::ServiceSpec>& services);

/// Returns the services as sections of a configuration file; empty if there are no services.
std::string print_services(const std::vector<wire::ServiceSpec>& services);

}  // namespace xylem::frontend
