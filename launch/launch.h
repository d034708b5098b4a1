#pragma once

// The environment that carries a run to the ranks of a job: by variables alone, so that an `mpirun`
// inside a script is reached as well, and never by value on a command line, where `ps` would show
// the key.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/key.h"

namespace xylem::launch {

/// Which launcher a command line starts with.
enum class Launcher { kNone, kOpenMpi, kMpich, kSlurm };

/// What can be told from a command line and its environment before it runs.
struct CommandFacts {
  Launcher launcher = Launcher::kNone;
  /// An option that names hosts or a host file is there.
  bool names_hosts = false;
  /// Proved: all ranks will be on this host. Only a known launcher that is not srun, outside any
  /// scheduler's job (Slurm, PBS, LSF, Grid Engine and others by their variables), to which neither
  /// an option, nor a variable, nor an MCA parameter (of the command line, the environment, or Open
  /// MPI's parameter files) gives a list of hosts or a file that may hold one. When in doubt,
  /// false.
  bool is_local = false;
};

/// Looks at the program's name (and, for plain `mpirun`, at what it links to by alternatives), at
/// its options up to each program, and at `environment` (NAME=VALUE strings). Pure but for
/// resolving programs in `path` and reading Open MPI's parameter files and default host file in
/// $HOME/.openmpi, /etc/openmpi and the launcher's own ../etc.
CommandFacts inspect_command(const std::vector<std::string>& command, std::string_view path,
                             const std::vector<std::string>& environment);

/// What a job's environment must say.
struct LaunchOptions {
  /// host:port or unix:PATH of the front end, best first.
  std::vector<std::string> addresses;
  std::string run;
  net::Key key{};
  std::string capture_library;  ///< Absolute path.
  std::string backend;          ///< Absolute path.
  bool tls = true;              ///< `--tls`
  std::string sample;           ///< As `--sample`; empty for the default.
  unsigned ring_records = 0;    ///< 0: default.
  unsigned test_size = 0;       ///< `--test-size`; 0: real hosts.
  bool remote = false;          ///< The job may reach other hosts.
};

/// NAME and value; an empty value means: set to empty.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// Variables to set on top of `current` (NAME=VALUE strings, as environ). LD_PRELOAD keeps what was
/// there, behind ours. With `remote`, Open MPI is told to forward ours (its mca_base_env_list keeps
/// what was there); Hydra and srun forward by themselves.
Environment job_environment(const LaunchOptions& options, const std::vector<std::string>& current);

/// Open MPI's list of variables that it hands to processes on other hosts.
constexpr std::string_view kOpenMpiForwardList = "OMPI_MCA_mca_base_env_list";

/// Whether LD_PRELOAD can name `library`. Fails with kInvalidArgument and a sentence when its path
/// has a blank, a colon or a dollar sign.
Result<void> check_preload(const std::string& library);

/// The value of NAME in `current`; empty when it is not there.
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
