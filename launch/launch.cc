#include "launch/launch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/run_contract.h"

namespace xylem::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kForwarded[] = {"LD_PRELOAD", kEnvAddress,   kEnvRun,  kEnvKey,
                                      kEnvBackend,  kEnvSample,    kEnvRing, kEnvTestSize,
                                      kEnvTls,      "ASAN_OPTIONS"};
// By default, gcc's address sanitizer ends a program if the sanitizer is not the first library.
constexpr const char* kAsanOption = "verify_asan_link_order=0";

std::string resolve(const std::string& program, std::string_view path) {
  std::error_code error;
  if (program.find('/') != std::string::npos) {
    const fs::path found = fs::canonical(program, error);
    return error ? program : found.string();
  }
  while (!path.empty()) {
    const std::string_view folder = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(path.size(), folder.size() + 1));
    const fs::path candidate = fs::path(folder) / program;
    if (::access(candidate.c_str(), X_OK) != 0) continue;
    const fs::path found = fs::canonical(candidate, error);
    return error ? candidate.string() : found.string();
  }
  return program;
}

Launcher launcher_of(const std::string& resolved) {
  const std::string name = fs::path(resolved).filename().string();
  if (name == "srun") return Launcher::kSlurm;
  if (name == "orterun" || name == "prterun" || name.ends_with(".openmpi")) {
    return Launcher::kOpenMpi;
  }
  if (name.starts_with("mpiexec.hydra") || name.ends_with(".mpich") || name == "hydra_mpiexec") {
    return Launcher::kMpich;
  }
  return Launcher::kNone;
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_host_option(std::string_view argument) {
  static constexpr std::array<std::string_view, 16> kOptions = {"-host",
                                                                "--host",
                                                                "-H",
                                                                "-hosts",
                                                                "--hosts",
                                                                "-hostfile",
                                                                "--hostfile",
                                                                "-f",
                                                                "-machine",
                                                                "-machines",
                                                                "-machinefile",
                                                                "--machinefile",
                                                                "-w",
                                                                "--nodelist",
                                                                "-default-hostfile",
                                                                "--default-hostfile"};
  return is_one_of(argument, kOptions);
}

// These options may also lead to other hosts: through a file with options or ranks, a running
// daemon, or a resource manager.
bool may_lead_to_hosts(std::string_view argument) {
  static constexpr std::array<std::string_view, 18> kOptions = {
      "-rf",    "--rankfile", "-rankfile", "-app",        "--app",        "-tune",
      "--tune", "-am",        "--am",      "-hnp",        "--hnp",        "-dvm",
      "--dvm",  "-rmk",       "--dvm-uri", "-configfile", "-ompi-server", "--ompi-server"};
  return is_one_of(argument, kOptions);
}

// Parameters of Open MPI and variables of both libraries: orte_default_hostfile,
// rmaps_rank_file_path, HYDRA_HOST_FILE and their like.
bool is_host_parameter(std::string_view name) {
  for (const std::string_view part :
       {"hostfile", "host_file", "rankfile", "rank_file", "default_dash_host", "dash_host"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

bool names_hosts_or_job(const std::vector<std::string>& environment) {
  // Variables of a scheduler's job. Variables that are also set on login nodes (SLURM_CONF,
  // SGE_ROOT) are not in the list.
  static constexpr std::string_view kOfJobs[] = {
      "SLURM_JOB",   "SLURM_NODELIST", "SLURM_NNODES", "SLURM_STEP", "PBS_",      "LSB_",
      "PE_HOSTFILE", "SGE_TASK",       "LOADL_",       "COBALT_",    "FLUX_JOB_", "OAR_"};
  for (const std::string& entry : environment) {
    std::string name = entry.substr(0, entry.find('='));
    if (name.size() + 1 >= entry.size()) continue;  // The value is empty.
    for (const std::string_view prefix : kOfJobs) {
      if (name.starts_with(prefix)) return true;
    }
    if (name == "HYDRA_HOST_FILE" || name == "HYDRA_RMK") return true;
    const bool is_parameter = name.starts_with("OMPI_MCA_") || name.starts_with("PRTE_MCA_");
    if (is_parameter && is_host_parameter(name)) return true;
  }
  return false;
}

// Returns true if a file has a line that is neither empty nor a comment and for which `counts`
// returns true.
template <typename Counts>
bool has_line(const fs::path& file, Counts counts) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin != std::string::npos && line[begin] != '#' && counts(line)) return true;
  }
  return false;
}

bool files_name_hosts(const fs::path& launcher, const std::vector<std::string>& environment) {
  const fs::path home = variable(environment, "HOME");
  const auto of_parameters = [](const fs::path& file) {
    return has_line(file, [](const std::string& line) { return is_host_parameter(line); });
  };
  if (!home.empty() && of_parameters(home / ".openmpi" / "mca-params.conf")) return true;
  for (const fs::path& etc :
       {fs::path("/etc/openmpi"), launcher.parent_path().parent_path() / "etc"}) {
    if (of_parameters(etc / "openmpi-mca-params.conf")) return true;
    if (has_line(etc / "openmpi-default-hostfile", [](const std::string&) { return true; })) {
      return true;
    }
  }
  return false;
}

// Options that are followed by a name and a value.
bool is_parameter_option(std::string_view argument) {
  static constexpr std::array<std::string_view, 7> kOptions = {
      "--mca", "-mca", "--gmca", "-gmca", "--prtemca", "-genv", "-env"};
  return is_one_of(argument, kOptions);
}

// A word after an option may be the option's value (`-launcher-exec /x/rsh`) and not the program.
// If the option has no value, the program is mistaken for a value. Then the program's options are
// inspected too, which does no harm.
bool is_value(const std::vector<std::string>& command, std::size_t at) {
  if (command[at - 1].starts_with("-")) return true;
  return at >= 2 && is_parameter_option(command[at - 2]);
}

Result<fs::path> find_prefix() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return unexpected(Code::kInternal, "/proc/self/exe cannot be read: is /proc mounted?");
  // PREFIX/bin/xylem or PREFIX/libexec/xylem/PROGRAM.
  fs::path prefix = self.parent_path().parent_path();
  if (prefix.filename() == "libexec") prefix = prefix.parent_path();
  return prefix;
}

Unexpected missing(const std::string& path) {
  return unexpected(Code::kNotFound, path + " is missing: the installation is not complete");
}

}  // namespace

std::string variable(const std::vector<std::string>& current, std::string_view name) {
  for (const std::string& entry : current) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.substr(name.size() + 1);
    }
  }
  return {};
}

std::vector<std::string> current_environment() {
  std::vector<std::string> current;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    current.emplace_back(*entry);
  }
  return current;
}

CommandFacts inspect_command(const std::vector<std::string>& command, std::string_view path,
                             const std::vector<std::string>& environment) {
  CommandFacts facts;
  if (command.empty()) return facts;
  const std::string launcher = resolve(command.front(), path);
  facts.launcher = launcher_of(launcher);
  if (facts.launcher == Launcher::kNone) return facts;
  bool in_program = false;
  bool leads_elsewhere = false;
  for (std::size_t i = 1; i < command.size(); ++i) {
    // After the program, options belong to the program, up to the next program of the same job.
    if (command[i] == ":") in_program = false;
    if (in_program) continue;
    in_program = command[i] != ":" && !is_value(command, i) &&
                 ::access(resolve(command[i], path).c_str(), X_OK) == 0;
    if (in_program) continue;
    const std::string option = command[i].substr(0, command[i].find('='));
    if (is_host_option(option)) facts.names_hosts = true;
    if (may_lead_to_hosts(option)) leads_elsewhere = true;
    if (is_parameter_option(command[i - 1]) && is_host_parameter(option)) facts.names_hosts = true;
  }
  facts.is_local =
      facts.launcher != Launcher::kSlurm && !facts.names_hosts && !leads_elsewhere &&
      !names_hosts_or_job(environment) &&
      (facts.launcher != Launcher::kOpenMpi || !files_name_hosts(launcher, environment));
  return facts;
}

Environment job_environment(const LaunchOptions& options, const std::vector<std::string>& current) {
  Environment job;
  const std::string preload = variable(current, "LD_PRELOAD");
  job.emplace_back("LD_PRELOAD", preload.empty() ? options.capture_library
                                                 : options.capture_library + ":" + preload);
  std::string addresses;
  for (const std::string& address : options.addresses) {
    addresses += (addresses.empty() ? "" : ",") + address;
  }
  job.emplace_back(kEnvAddress, addresses);
  job.emplace_back(kEnvRun, options.run);
  const std::string asan = variable(current, "ASAN_OPTIONS");
  job.emplace_back("ASAN_OPTIONS", asan.empty() ? kAsanOption : asan + ":" + kAsanOption);
  job.emplace_back(kEnvKey, net::to_hex(options.key));
  job.emplace_back(kEnvBackend, options.backend);
  job.emplace_back(kEnvTls, options.start.tls ? "on" : "off");
  if (!options.start.sample.empty()) job.emplace_back(kEnvSample, options.start.sample);
  if (options.start.ring_records != 0) {
    job.emplace_back(kEnvRing, std::to_string(options.start.ring_records));
  }
  if (options.start.test_size != 0) {
    job.emplace_back(kEnvTestSize, std::to_string(options.start.test_size));
  }
  if (options.remote) {
    std::string names = variable(current, kOpenMpiForwardList);
    for (const char* name : kForwarded) {
      const bool is_set = std::any_of(job.begin(), job.end(),
                                      [name](const auto& entry) { return entry.first == name; });
      if (is_set) names += (names.empty() ? "" : ";") + std::string(name);
    }
    job.emplace_back(kOpenMpiForwardList, names);
  }
  return job;
}

Result<void> check_preload(const std::string& library) {
  if (library.find_first_of(" :$") == std::string::npos) return {};
  return unexpected(Code::kInvalidArgument,
                    library +
                        ": cannot be preloaded, since LD_PRELOAD has no form for a path with a "
                        "blank, a colon or a dollar sign; install xylem below another folder");
}

Result<Environment> rank_environment(const std::string& capture_library,
                                     const std::vector<std::string>& current) {
  const bool is_in_run = std::ranges::any_of(current, [](const std::string& entry) {
    return entry.starts_with(std::string(kEnvAddress) + "=");
  });
  if (!is_in_run) {
    return unexpected(
        Code::kUnavailable,
        "no run to report to: give --env-file, or start under `xylem run` or `xylem serve`");
  }
  if (auto usable = check_preload(capture_library); !usable) {
    return unexpected(std::move(usable.error()));
  }
  const std::string others = variable(current, "LD_PRELOAD");
  if (others.find(capture_library) != std::string::npos) return Environment();
  return Environment{{"LD_PRELOAD", capture_library + (others.empty() ? "" : ":" + others)}};
}

Result<Installation> find_installation() {
  const auto prefix_found = find_prefix();
  if (!prefix_found) return unexpected(prefix_found.error());
  const fs::path& prefix = *prefix_found;
  Installation found;
  found.xylem = prefix / "bin" / "xylem";
  found.frontend = prefix / "libexec" / "xylem" / "xylem-frontend";
  found.backend = prefix / "libexec" / "xylem" / "xylem-backend";
  found.comm_process = prefix / "libexec" / "xylem" / "xylem-commproc";
  found.capture_library = prefix / "lib" / "xylem" / "libxylem-capture.so";
  for (const std::string& path :
       {found.frontend, found.backend, found.comm_process, found.capture_library}) {
    if (::access(path.c_str(), R_OK) != 0) {
      return missing(path);
    }
  }
  return found;
}

Result<std::string> find_internal_program(const std::string& name) {
  const auto prefix = find_prefix();
  if (!prefix) return unexpected(prefix.error());
  const std::string path = *prefix / "libexec" / "xylem" / name;
  return ::access(path.c_str(), R_OK) == 0 ? Result<std::string>(path) : missing(path);
}

}  // namespace xylem::launch
