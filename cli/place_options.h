#pragma once

// Reads the settings of `xylem place`: the hosts with their facts, the shape of the tree, and the
// choice of placement.

#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "base/settings.h"
#include "placement/place.h"
#include "tree/host.h"
#include "tree/shape.h"

namespace xylem {

/// All settings of `xylem place`. settings.h describes their layers.
const std::vector<Setting>& place_settings();

/// The checked settings, with the contents of the files that they name.
struct PlaceRequest {
  std::vector<tree::Host> hosts;
  tree::Shape shape;
  placement::Choice choice;
  std::string front_end_host;
};

/// If the setting `recorded` names a run, takes settings from this run, so that a placement can be
/// repeated without other options. These settings are topology, placement, extra hosts and limits.
/// A setting gets the run's value only if it has its default value. The run's topology is not taken
/// if it is a file, or if `comm-processes` is given. If the configuration file (`entries`) has no
/// rules of fuzzy placement, adds the run's rules. Fails if the run's file cannot be opened (see
/// storage::RunFile::open). Fails with kInvalidArgument when the run's options are invalid.
Result<void> recall_settings(std::vector<SettingValue>& values, std::vector<ConfigEntry>& entries);

/// Reads the hosts from one source: `hosts`, `host-file`, `recorded` or `slurm`. If none of these
/// settings is given, the source is the Slurm job of the environment. Then reads the facts about
/// the hosts, and the limits on the number of communication processes of each host.
///
/// - Processes of a host: the number in `back-ends` or `ranks`, else the slots in a host file or
///   the tasks in Slurm. In a bare list of hosts each host has one process.
/// - A host with 0 slots or tasks is left out: the launcher starts nothing there. `extra-hosts` may
///   name it.
/// - Back ends of a host: the number in `back-ends`, else one if the host has any process, as under
///   `xylem run`.
/// - A recorded run gives hosts with one back end each. If its tree was placed by facts, it gives
///   the hosts, processes and facts of that placement. Any other run gives the hosts of its agents,
///   the number of their ranks, and the newest measured facts.
/// - The table `facts` replaces values of a recorded run.
/// - `comm-processes` N means the shape balanced:1xN; 0 means flat. If `comm-processes` and
///   `topology` are both given as flags, this is an error. If only one of the two is a flag, the
///   flag counts. If neither is a flag, `comm-processes` counts.
///
/// `environment` is a list of NAME=VALUE strings. `rules` are the rules of fuzzy placement in the
/// configuration file.
///
/// If a file cannot be read, fails with the code of that failure. Fails with kInvalidArgument when
/// settings contradict each other, or when a host is named twice. A list of numbers must have one
/// number, or a number for each host; otherwise this fails with kInvalidArgument too. Where
/// possible, the sentence begins with the source of the setting, or with the file and the line.
Result<PlaceRequest> check_place_settings(const std::vector<SettingValue>& values,
                                          const std::vector<std::string>& environment,
                                          placement::FuzzyRules rules);

}  // namespace xylem
