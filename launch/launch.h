#pragma once

// Makes the environment variables that connect the ranks of a job to a run. The command line is not
// changed, so an `mpirun` inside a script works, too. The key is never on a command line, because
// `ps` would show it there.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "launch/start_options.h"
#include "net/key.h"

namespace xylem::launch {

/// The launcher at the beginning of a command line.
enum class Launcher { kNone, kOpenMpi, kMpich, kSlurm };

/// Facts about a command line and its environment that are known before the command runs.
struct CommandFacts {
  Launcher launcher = Launcher::kNone;
  /// True if an option or an MCA parameter on the command line names hosts or a host file.
  bool names_hosts = false;
  /// True only if all ranks will certainly be on this host. All these conditions must be true:
  /// - The launcher is known and is not srun.
  /// - No variable of Slurm, PBS, LSF, Grid Engine or another scheduler is set.
  /// - No option, variable or MCA parameter gives a list of hosts, a host file, or a file or daemon
  ///   that may name hosts. MCA parameters can be on the command line, in the environment, or in
  ///   Open MPI's parameter files.
  bool is_local = false;
};

/// Finds the facts from three sources: the launcher's name, the launcher's options before each
/// program, and `environment` (NAME=VALUE strings). Symbolic links are followed: if `mpirun` is a
/// symbolic link to `orterun`, the name `orterun` counts.
///
/// Looks for programs in `path`. If the launcher is Open MPI's, may read Open MPI's parameter file
/// in $HOME/.openmpi. Then also reads Open MPI's parameter file and default host file in two
/// folders: /etc/openmpi, and ../etc relative to the launcher's folder. Does no other I/O.
CommandFacts inspect_command(const std::vector<std::string>& command, std::string_view path,
                             const std::vector<std::string>& environment);

/// The values for a job's environment variables.
struct LaunchOptions {
  /// Addresses of the front end, the best one first. The form is host:port or unix:PATH.
  std::vector<std::string> addresses;
  std::string run;
  net::Key key{};
  std::string capture_library;  ///< Absolute path.
  std::string backend;          ///< Absolute path.
  StartOptions start;
  bool remote = false;  ///< True if the job may run on other hosts.
};

/// Pairs of NAME and value. A variable with an empty value is set to "", not removed.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// Returns the variables to set in addition to `current` (NAME=VALUE strings). Our entry in
/// LD_PRELOAD comes before existing entries. If `options.remote` is true, our variables are added
/// to Open MPI's list of variables that it forwards to other hosts. Hydra and srun forward all
/// variables by themselves.
Environment job_environment(const LaunchOptions& options, const std::vector<std::string>& current);

/// Returns the variables to set so that the calls of a rank are captured. The rank is started in
/// the environment `current` of a run. The result has only LD_PRELOAD. It is empty if LD_PRELOAD
/// already contains `capture_library`. Fails with kUnavailable if `current` belongs to no run, and
/// with kInvalidArgument if check_preload() refuses `capture_library`.
Result<Environment> rank_environment(const std::string& capture_library,
                                     const std::vector<std::string>& current);

/// The variable with Open MPI's list of variables to forward to other hosts.
constexpr std::string_view kOpenMpiForwardList = "OMPI_MCA_mca_base_env_list";

/// Checks that LD_PRELOAD can contain the path `library`. Fails with kInvalidArgument if the path
/// contains a blank, a colon or a dollar sign.
Result<void> check_preload(const std::string& library);

/// Returns the value of the variable `name` in `current`; empty if the variable is not set.
std::string variable(const std::vector<std::string>& current, std::string_view name);

/// Returns this process's environment as NAME=VALUE strings.
std::vector<std::string> current_environment();

/// Paths of the parts of this installation.
struct Installation {
  std::string xylem;
  std::string frontend;
  std::string backend;
  std::string comm_process;
  std::string capture_library;
};
/// Finds the parts relative to the running program, both in the build tree and in an installation.
/// Fails with kNotFound; the message has the missing path.
Result<Installation> find_installation();

/// Finds one program that only xylem starts, for example "xylem-calibrate", in the same way. Fails
/// in the same way if it is missing.
Result<std::string> find_internal_program(const std::string& name);

}  // namespace xylem::launch
