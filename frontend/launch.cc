#include "frontend/launch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace xylem::frontend {
namespace {

namespace fs = std::filesystem;

constexpr const char* kForwarded[] = {"LD_PRELOAD", "XYLEM_ADDRESS",   "XYLEM_RUN",
                                      "XYLEM_KEY",  "XYLEM_BACKEND",   "XYLEM_SAMPLE",
                                      "XYLEM_RING", "XYLEM_TEST_SIZE", "XYLEM_TLS"};
constexpr std::string_view kOpenMpiForwardList = "OMPI_MCA_mca_base_env_list";

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

bool is_host_option(std::string_view argument) {
  static constexpr std::array<std::string_view, 10> kOptions = {
      "-host",     "--host",     "-H",           "-hosts",        "--hosts",
      "-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f"};
  return std::find(kOptions.begin(), kOptions.end(), argument) != kOptions.end() ||
         argument == "-w" || argument.starts_with("--nodelist");
}

// What stands behind an option may be its value (`-launcher-exec /x/rsh`), and is then no program.
// An option without a value in front of the program costs nothing but a look at its options too.
bool is_value(const std::vector<std::string>& command, std::size_t at) {
  static constexpr std::array<std::string_view, 6> kTwoValues = {"--mca", "-mca",  "--gmca",
                                                                 "-gmca", "-genv", "-env"};
  if (command[at - 1].starts_with("-")) return true;
  return at >= 2 &&
         std::find(kTwoValues.begin(), kTwoValues.end(), command[at - 2]) != kTwoValues.end();
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

CommandFacts inspect_command(const std::vector<std::string>& command, std::string_view path) {
  CommandFacts facts;
  if (command.empty()) return facts;
  facts.launcher = launcher_of(resolve(command.front(), path));
  if (facts.launcher == Launcher::kNone) return facts;
  for (std::size_t i = 1; i < command.size(); ++i) {
    // From the program on, options are the program's.
    if (!is_value(command, i) && ::access(resolve(command[i], path).c_str(), X_OK) == 0) break;
    const std::string option = command[i].substr(0, command[i].find('='));
    if (is_host_option(option)) facts.names_hosts = true;
  }
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
  job.emplace_back("XYLEM_ADDRESS", addresses);
  job.emplace_back("XYLEM_RUN", options.run);
  job.emplace_back("XYLEM_KEY", net::to_hex(options.key));
  job.emplace_back("XYLEM_BACKEND", options.backend);
  job.emplace_back("XYLEM_TLS", options.tls ? "on" : "off");
  if (!options.sample.empty()) job.emplace_back("XYLEM_SAMPLE", options.sample);
  if (options.ring_records != 0) {
    job.emplace_back("XYLEM_RING", std::to_string(options.ring_records));
  }
  if (options.test_size != 0) {
    job.emplace_back("XYLEM_TEST_SIZE", std::to_string(options.test_size));
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

Result<Installation> find_installation() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return unexpected(Code::kInternal, "/proc/self/exe cannot be read: is /proc mounted?");
  // PREFIX/bin/xylem or PREFIX/libexec/xylem/PROGRAM.
  fs::path prefix = self.parent_path().parent_path();
  if (prefix.filename() == "libexec") prefix = prefix.parent_path();
  Installation found;
  found.xylem = prefix / "bin" / "xylem";
  found.frontend = prefix / "libexec" / "xylem" / "xylem-frontend";
  found.backend = prefix / "libexec" / "xylem" / "xylem-backend";
  found.capture_library = prefix / "lib" / "xylem" / "libxylem-capture.so";
  for (const std::string& path : {found.frontend, found.backend, found.capture_library}) {
    if (::access(path.c_str(), R_OK) != 0) {
      return unexpected(Code::kNotFound, path + " is missing: the installation is not complete");
    }
  }
  return found;
}

}  // namespace xylem::frontend
