#include "backend/agent/agent_start.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "backend/agent/run_folder.h"
#include "backend/host/network_rate.h"
#include "backend/host/processor.h"
#include "base/run_contract.h"
#include "base/this_host.h"

namespace xylem::backend {
namespace {

constexpr Nanos kForAges = Nanos{100} * 365 * 24 * 3600 * kSecond;

Result<void> take(const char* name, std::string& into) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == 0) {
    return unexpected(Code::kInvalidArgument,
                      std::string(name) + " is not set; ranks under xylem start this program");
  }
  into = value;
  return {};
}

// Maximum size of a file (RLIMIT_FSIZE), in whole pages.
std::size_t largest_file() {
  constexpr std::size_t kPage = 4096;
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(limit.rlim_cur) / kPage * kPage;
}

void set_stay(Stay stay, AgentOptions& options) {
  switch (stay) {
    case Stay::kWithRanks:
      return;
    case Stay::kUntilTold:
      // No one would start another agent for the next rank.
      options.linger = kForAges;
      options.first_linger = kForAges;
      return;
    case Stay::kWithFound:
      // No further process registers, and processes that still run at the end have no calls to wait
      // for. But a process that got the same signal as this agent may be about to end.
      options.linger = 0;
      options.first_linger = 0;
      options.finish_patience = options.exit_patience = 300 * kMillisecond;
      // The processes fill no rings, so once a second is enough.
      options.idle_interval = 1 * kSecond;
      return;
  }
}

}  // namespace

Result<AgentStart> read_agent_start(Stay stay) {
  AgentStart start;
  start.stay = stay;
  std::vector<std::pair<const char*, std::string*>> wanted = {{kEnvRun, &start.run},
                                                              {kEnvAddress, &start.address}};
  if (stay == Stay::kWithRanks) {
    wanted.emplace_back(kEnvFolder, &start.folder);
    wanted.emplace_back(kEnvHost, &start.host);
  }
  for (const auto& [name, into] : wanted) {
    if (auto taken = take(name, *into); !taken) return unexpected(std::move(taken.error()));
  }
  if (stay != Stay::kWithRanks) {
    start.folder = own_run_folders() + start.run;
    start.host = this_host_name();
  }
  if (const char* tls = std::getenv(kEnvTls)) start.tls = std::string_view(tls) != "off";
  if (const char* level = std::getenv(kEnvLogLevel)) start.log_level = level;
  if (const char* file = std::getenv(kEnvLogFile)) start.log_file = file;
  return start;
}

AgentOptions agent_options(const AgentStart& start, std::vector<wire::Address> front_end) {
  AgentOptions options;
  options.front_end = std::move(front_end);
  options.host.name = start.host;
  options.host.cores = static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  options.load = [] {
    double load = 0;
    return ::getloadavg(&load, 1) == 1 ? load : 0.0;
  };
  options.host_watch.network_rate = [addresses = options.front_end]() -> std::optional<double> {
    for (const wire::Address& it : addresses) {
      if (!it.host.empty()) return network_rate(it.host);
    }
    return std::nullopt;
  };
  options.collector.registrations.host = start.host;
  options.collector.registrations.processor = read_processor();
  options.services.host = start.host;
  options.services.folder = start.folder;
  options.services.clock = monotonic_now;
  set_stay(start.stay, options);
  return options;
}

CommProcessSetting comm_process_setting(const AgentStart& start, const std::string& host_key) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  CommProcessSetting setting;
  setting.program = program.parent_path() / "xylem-commproc";
  setting.run = start.run;
  setting.front_end = start.address;
  setting.folder = start.folder;
  setting.host = start.host;
  setting.host_key = host_key;
  setting.tls = start.tls;
  setting.log_level = start.log_level;
  return setting;
}

GuardOptions guard_options(const AgentStart& start) {
  GuardOptions options;
  options.folder = start.folder;
  options.journal_bytes = std::min(options.journal_bytes, largest_file());
  return options;
}

void announce_ready(const std::string& host, std::size_t ranks, const std::string& note) {
  std::printf("ready %s %zu%s%s\n", host.c_str(), ranks, note.empty() ? "" : " ", note.c_str());
  std::fflush(stdout);
  const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(nowhere.get(), stream);
  }
}

}  // namespace xylem::backend
