#include "launch/refusal.h"

#include <algorithm>
#include <filesystem>

#include "launch/launch.h"

namespace xylem::launch {
namespace {

const char* library_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::kOpenMpi:
      return " of Open MPI";
    case Launcher::kMpich:
      return " of MPICH";
    case Launcher::kSlurm:
    case Launcher::kNone:
      break;
  }
  return "";
}

// A code above it means that a signal has ended the launcher.
constexpr int kBySignal = 128;

bool has(const std::vector<std::string>& command, std::string_view option) {
  return std::ranges::find(command, option) != command.end();
}

/// See mpirun(1) of Open MPI: two variables, so that nobody sets them by accident.
bool may_run_as_root(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment) {
  return has(command, "--allow-run-as-root") || has(command, "-allow-run-as-root") ||
         (variable(environment, "OMPI_ALLOW_RUN_AS_ROOT") == "1" &&
          variable(environment, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") == "1");
}

}  // namespace

Refusal refused_launch(const std::vector<std::string>& command, std::string_view path,
                       const std::vector<std::string>& environment, int exit_code, bool is_root) {
  const Launcher launcher = inspect_command(command, path, environment).launcher;
  if (launcher == Launcher::kNone || exit_code <= 0 || exit_code > kBySignal) return {};
  const std::string name =
      std::filesystem::path(command.front()).filename().string() + library_of(launcher);
  if (launcher == Launcher::kOpenMpi && is_root && !may_run_as_root(command, environment)) {
    return {name + " does not start a job as root; add --allow-run-as-root, or run as another user",
            true};
  }
  std::string clause = name + " exited with code " + std::to_string(exit_code) +
                       " and may have refused the job: see its own message above";
  if (launcher == Launcher::kOpenMpi && !has(command, "--oversubscribe")) {
    clause += ", and add --oversubscribe if it names too few slots";
  }
  return {clause, false};
}

}  // namespace xylem::launch
