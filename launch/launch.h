#pragma once

// The environment that connects the ranks of a job to a run. It uses only variables, so that an
// `mpirun` inside a script works too, and puts no values on a command line, where `ps` would show
// the key.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "launch/start_options.h"
#include "net/key.h"

namespace xylem::launch {

/// Which launcher a command line starts with.
enum class Launcher { kNone, kOpenMpi, kMpich, kSlurm };

/// Facts about a command line and its environment before it runs.
struct CommandFacts {
  Launcher launcher = Launcher::kNone;
  /// An option that names hosts or a host file is there.
  bool names_hosts = false;
  /// True only if all ranks will certainly be on this host: a known launcher other than srun,
  /// outside any scheduler's job (Slurm, PBS, LSF, Grid Engine and others by their variables),
  /// without a list of hosts or a host file in an option, a variable, or an MCA parameter (on the
  /// command line, in the environment, or in Open MPI's parameter files).
  bool is_local = false;
};

/// Looks at the program's name (and, for plain `mpirun`, at what it links to by alternatives), at
/// its options up to each program, and at `environment` (NAME=VALUE strings). Pure but for
/// resolving programs in `path` and reading Open MPI's parameter files and default host file in
/// $HOME/.openmpi, /etc/openmpi and the launcher's own ../etc.
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

/// NAME and value; an empty value means: set to empty.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// Variables to set on top of `current` (NAME=VALUE strings, as environ). Existing entries of
/// LD_PRELOAD follow ours. With `remote`, Open MPI is told to forward our variables (its
/// mca_base_env_list keeps its entries); Hydra and srun forward by themselves.
Environment job_environment(const LaunchOptions& options, const std::vector<std::string>& current);

/// Open MPI's list of variables to forward to other hosts.
constexpr std::string_view kOpenMpiForwardList = "OMPI_MCA_mca_base_env_list";

/// Checks that LD_PRELOAD can contain `library`. Fails with kInvalidArgument and a sentence when
/// its path has a blank, a colon or a dollar sign.
Result<void> check_preload(const std::string& library);

/// The value of NAME in `current`; empty if it is not set.
std::string variable(const std::vector<std::string>& current, std::string_view name);

/// This process's environment as NAME=VALUE strings.
std::vector<std::string> current_environment();

/// Where the other parts of this installation are: beside the running program, in the build tree as
/// in an installed one. Fails with kNotFound and the path that is missing.
struct Installation {
  std::string xylem;
  std::string frontend;
  std::string backend;
  std::string comm_process;
  std::string capture_library;
};
Result<Installation> find_installation();

}  // namespace xylem::launch
