#pragma once

// The environment variables that connect the ranks of a job to a run. Only variables are used, so
// an `mpirun` inside a script works too. Nothing is put on a command line, where `ps` would show
// the key.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "launch/start_options.h"
#include "net/key.h"

namespace xylem::launch {

/// The launcher with which a command line starts.
enum class Launcher { kNone, kOpenMpi, kMpich, kSlurm };

/// Facts about a command line and its environment, found before the command runs.
struct CommandFacts {
  Launcher launcher = Launcher::kNone;
  /// The command line has an option with hosts or a host file.
  bool names_hosts = false;
  /// True only if all ranks will certainly be on this host. This needs a known launcher other than
  /// srun. The command must be outside any scheduler's job (Slurm, PBS, LSF, Grid Engine and
  /// others, as their variables show). And no option, variable or MCA parameter may give a list of
  /// hosts or a host file. (MCA parameters can be on the command line, in the environment, or in
  /// Open MPI's parameter files.)
  bool is_local = false;
};

/// Finds these facts in the launcher's name (for plain `mpirun`, in the name of the file to which
/// it links), in its options before each program, and in `environment` (NAME=VALUE strings).
///
/// Pure, except that it looks for programs in `path`, and reads Open MPI's parameter files and
/// default host file in $HOME/.openmpi, /etc/openmpi and the launcher's own ../etc.
CommandFacts inspect_command(const std::vector<std::string>& command, std::string_view path,
                             const std::vector<std::string>& environment);

/// The contents of a job's environment.
struct LaunchOptions {
  /// host:port or unix:PATH of the front end, best first.
  std::vector<std::string> addresses;
  std::string run;
  net::Key key{};
  std::string capture_library;  ///< Absolute path.
  std::string backend;          ///< Absolute path.
  StartOptions start;
  bool remote = false;  ///< The job may reach other hosts.
};

/// Pairs of NAME and value. A variable with an empty value is set to "", not removed.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// Variables to set in addition to `current` (NAME=VALUE strings, as environ). Existing entries of
/// LD_PRELOAD follow our entry. With `options.remote`, our variables are added to the list of those
/// that Open MPI forwards to other hosts; Hydra and srun forward all variables by themselves.
Environment job_environment(const LaunchOptions& options, const std::vector<std::string>& current);

/// Variables to set for a rank that is started in the environment `current` of a run, so that its
/// calls are captured: LD_PRELOAD, unless it contains `capture_library` already. Fails with
/// kUnavailable if `current` belongs to no run, and as check_preload().
Result<Environment> rank_environment(const std::string& capture_library,
                                     const std::vector<std::string>& current);

/// Open MPI's list of variables to forward to other hosts.
constexpr std::string_view kOpenMpiForwardList = "OMPI_MCA_mca_base_env_list";

/// Checks that LD_PRELOAD can contain the path `library`. Fails with kInvalidArgument and a
/// sentence when the path contains a blank, a colon or a dollar sign.
Result<void> check_preload(const std::string& library);

/// The value of the variable `name` in `current`; empty if it is not set.
std::string variable(const std::vector<std::string>& current, std::string_view name);

/// This process's environment as NAME=VALUE strings.
std::vector<std::string> current_environment();

/// Paths of the parts of this installation.
struct Installation {
  std::string xylem;
  std::string frontend;
  std::string backend;
  std::string comm_process;
  std::string capture_library;
};
/// Finds the parts relative to the running program, in the build tree as well as when installed.
/// Fails with kNotFound and the missing path.
Result<Installation> find_installation();

}  // namespace xylem::launch
