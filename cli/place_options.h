#pragma once

// The request of `xylem place`: turns settings into hosts with their facts and a choice of
// placement.

#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "base/settings.h"
#include "placement/place.h"
#include "tree/host.h"
#include "tree/shape.h"

namespace xylem {

/// All settings of the verb, layered as settings.h says.
const std::vector<Setting>& place_settings();

/// Checked, with everything read that the settings name.
struct PlaceRequest {
  std::vector<tree::Host> hosts;
  tree::Shape shape;
  placement::Choice choice;
  std::string front_end_host;
};

/// Where a recorded run is named: what it was started with takes the place of defaults (topology,
/// placement, extra hosts, limits), and its rules of fuzzy placement that of the configuration
/// file's, `entries`, when that has none. So that nothing else need be said to repeat a placement.
/// Fails as storage::RunFile::open, and with kInvalidArgument when its options cannot be read.
Result<void> recall_settings(std::vector<SettingValue>& values, std::vector<ConfigEntry>& entries);

/// Reads the hosts from the one source that is named: `hosts`, `host-file`, `recorded`, `slurm`, or
/// without any the Slurm job of the environment. Then what is known of them, and what limits them.
///
/// - Lists, host files and Slurm tell processes, as many as `back-ends`, slots or tasks say. A host
///   has as many back ends as `back-ends` says; else one where `ranks`, slots or tasks put any
///   process, as under `xylem run`; else (a bare list) one.
/// - A recorded run that was placed by facts tells the hosts, processes and facts of that moment.
///   Another one tells its agents' hosts and their ranks, and as facts the newest values that were
///   measured. `facts` is a table and goes before them.
/// - `comm-processes` N is the shape balanced:1xN (0: flat); it and `topology` cannot both be said
///   on one level.
///
/// `environment` holds NAME=VALUE strings: of Slurm. `rules` are those of the configuration file.
/// Fails with the codes of what is read, and with kInvalidArgument where settings contradict each
/// other, numbers are not as many as hosts, or a host is named twice; the sentence begins with the
/// setting's source, or the file and its line.
Result<PlaceRequest> check_place_settings(const std::vector<SettingValue>& values,
                                          const std::vector<std::string>& environment,
                                          placement::FuzzyRules rules);

}  // namespace xylem
