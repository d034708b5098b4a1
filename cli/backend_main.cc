// xylem-backend: the agent of a host. Started by the capture library of the host's first rank, or
// by a launcher in its place; people never start it.
//
//   descriptors  3: the listening socket in the run's folder, 4: a pipe with the key
//   environment  XYLEM_ADDRESS, XYLEM_RUN, XYLEM_FOLDER, XYLEM_HOST; XYLEM_TLS (on|off),
//   XYLEM_LOG_LEVEL, XYLEM_LOG_FILE
//
// Returns at once, leaving a daemon: the guard, which starts the worker.

#include <sys/signalfd.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "backend/agent.h"
#include "backend/guard.h"
#include "backend/guard_channel.h"
#include "backend/mapping.h"
#include "backend/process_starter.h"
#include "backend/run_folder.h"
#include "base/log.h"
#include "capture/ring.h"
#include "net/address.h"
#include "net/runtime.h"

namespace xylem {
namespace {

constexpr int kBadStart = 2;

struct Setting {
  std::string run;
  std::string address;
  std::string folder;
  std::string host;
  std::string host_key;
  bool tls = true;
  std::string log_level = "warn";
  std::string libexec;  // Where programs like this one are.
  std::vector<wire::Address> front_end;
  net::Key key{};
};

int fail(const std::string& sentence) {
  std::fprintf(stderr, "xylem-backend: %s\n", sentence.c_str());
  return kBadStart;
}

Result<void> take(const char* name, std::string& into) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == 0) {
    return unexpected(Code::kInvalidArgument,
                      std::string(name) + " is not set; ranks under xylem start this program");
  }
  into = value;
  return {};
}

std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return program.substr(0, program.rfind('/'));
}

Result<Setting> read_setting() {
  Setting setting;
  for (const auto& [name, into] :
       {std::pair{capture::kEnvRun, &setting.run},
        std::pair{capture::kEnvAddress, &setting.address},
        std::pair{"XYLEM_FOLDER", &setting.folder}, std::pair{"XYLEM_HOST", &setting.host}}) {
    if (auto taken = take(name, *into); !taken) return unexpected(std::move(taken.error()));
  }
  if (const char* tls = std::getenv("XYLEM_TLS")) setting.tls = std::string_view(tls) != "off";
  if (const char* level = std::getenv("XYLEM_LOG_LEVEL")) setting.log_level = level;
  auto front_end = net::parse_addresses(setting.address);
  if (!front_end) return unexpected(std::move(front_end.error()));
  setting.front_end = *std::move(front_end);
  auto key = net::read_key(capture::kBackendKeyFd);
  if (!key) return unexpected(std::move(key.error()));
  setting.key = *key;
  setting.libexec = own_folder();
  // Tells this agent from one that had the folder before it.
  std::uint8_t random[8];
  net::fill_random(random);
  setting.host_key = setting.folder + ":" + net::to_hex(random);
  return setting;
}

backend::AgentOptions agent_options(const Setting& setting, int terminate_fd) {
  backend::AgentOptions options;
  options.front_end = setting.front_end;
  options.host.name = setting.host;
  options.host.host_key = setting.host_key;
  options.host.cores = static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  for (const auto& it : net::interface_addresses()) options.host.addresses.push_back(it.address);
  options.load = [] {
    double load = 0;
    return ::getloadavg(&load, 1) == 1 ? load : 0.0;
  };
  options.collector.host = setting.host;
  options.terminate_fd = terminate_fd;
  return options;
}

backend::CommProcessSetting comm_process_setting(const Setting& setting) {
  backend::CommProcessSetting child;
  child.program = setting.libexec + "/xylem-commproc";
  child.run = setting.run;
  child.front_end = setting.address;
  child.folder = setting.folder;
  child.host = setting.host;
  child.host_key = setting.host_key;
  child.tls = setting.tls;
  child.log_level = setting.log_level;
  child.key = setting.key;
  return child;
}

// The worker: from the guard's fork to its end.
int work(const Setting& setting, const backend::GuardOptions& guard, backend::RunFolder folder,
         backend::WorkerInheritance inheritance) {
  auto memory = backend::Mapping::of(inheritance.journal.get(), guard.journal_bytes);
  auto journal = memory ? backend::Journal::open(memory->bytes()) : unexpected(memory.error());
  if (!journal) {
    log(Level::kError, journal.error().message);
    folder.remove();
    return kBadStart;
  }
  sigset_t term;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  const UniqueFd terminate(::signalfd(-1, &term, SFD_CLOEXEC | SFD_NONBLOCK));

  net::NoticeBoard notices(
      {wire::Role::kBackEnd, setting.host, static_cast<std::uint32_t>(::getpid())});
  set_log_listener([&notices](Level level, std::string_view line) {
    notices.post(level, line, monotonic_now());
  });
  backend::GuardChannel channel(std::move(inheritance.channel), std::move(inheritance.listener),
                                folder);
  backend::CommProcessStarter starter(comm_process_setting(setting));
  backend::Agent agent(agent_options(setting, terminate.get()), *journal, channel, starter);
  net::RuntimeOptions network;
  network.run = setting.run;
  network.key = setting.key;
  network.tls = setting.tls;
  network.host_key = setting.host_key;
  network.notices = &notices;
  const int code = net::run_node(agent, std::move(network));
  set_log_listener({});
  // A front end that was killed with all that started it leaves its folder.
  backend::sweep_run_folders(backend::own_run_folders());
  return code;
}

int run() {
  auto setting = read_setting();
  if (!setting) return fail(setting.error().message);
  const char* log_file = std::getenv("XYLEM_LOG_FILE");
  configure_log("xylem-backend", parse_level(setting->log_level),
                log_file == nullptr ? "" : log_file);
  backend::RunFolder folder(setting->folder);
  folder.hold();
  auto daemon = backend::become_daemon();
  if (!daemon) return fail(daemon.error().message);
  if (!*daemon) return 0;

  // What agents of earlier runs left that were killed with all that stood for them.
  backend::sweep_run_folders(backend::own_run_folders());

  backend::GuardOptions options;
  options.folder = setting->folder;
  auto ended = backend::run_guard(options, UniqueFd(capture::kBackendListenFd),
                                  [&](backend::WorkerInheritance inheritance) {
                                    return work(*setting, options, folder, std::move(inheritance));
                                  });
  if (ended) return *ended;
  log(Level::kError, ended.error().message);
  folder.remove();
  return kBadStart;
}

}  // namespace
}  // namespace xylem

int main() { return xylem::run(); }
