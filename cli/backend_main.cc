// xylem-backend: the agent of a host; people never start it.
//
// By the capture library of the host's first rank:
//   descriptors  3: the listening socket in the run's folder, 4: a pipe with the key
//   environment  XYLEM_ADDRESS, XYLEM_RUN, XYLEM_FOLDER, XYLEM_HOST; XYLEM_TLS (on|off),
//   XYLEM_LOG_LEVEL, XYLEM_LOG_FILE
// Returns at once, leaving a daemon: the guard, which starts the worker.
//
// By a launcher, `xylem-backend --launched`, before there is a rank:
//   environment  XYLEM_ADDRESS, XYLEM_RUN, XYLEM_KEY, and the optional ones
// Makes folder and socket itself, says "ready HOST 0" on standard output, stays in the foreground,
// and until the run is over, also while no rank is there.
//
// By a launcher, `xylem-backend --launched --find [WHAT...]` (backend/find/selection_text.h), for
// ranks that run already: the same, but looks for them first, says how many there are, and ends
// with them. None is no failure.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/agent/agent.h"
#include "backend/agent/guard.h"
#include "backend/agent/guard_channel.h"
#include "backend/agent/host_claim.h"
#include "backend/agent/quiet_segment.h"
#include "backend/agent/run_folder.h"
#include "backend/find/proc_table.h"
#include "backend/find/rank_search.h"
#include "backend/find/selection_text.h"
#include "backend/host/network_rate.h"
#include "backend/leaf/mapping.h"
#include "backend/leaf/process_starter.h"
#include "base/log.h"
#include "base/own_process.h"
#include "base/run_contract.h"
#include "base/this_host.h"
#include "capture/core/ring.h"
#include "net/address.h"
#include "net/runtime.h"

namespace xylem {
namespace {

constexpr int kBadStart = 2;
constexpr Nanos kForAges = Nanos{100} * 365 * 24 * 3600 * kSecond;

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
  enum class Stay { kWithRanks, kUntilTold, kWithFound };
  Stay stay = Stay::kWithRanks;
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

// The key of a launched agent stands in its environment, where nobody shall find it later.
Result<net::Key> take_key_from_environment() {
  char* text = std::getenv(kEnvKey);
  auto key = net::parse_key(text == nullptr ? "" : text);
  if (text != nullptr) ::explicit_bzero(text, std::strlen(text));
  ::unsetenv(kEnvKey);
  return key;
}

Result<Setting> read_setting(Setting::Stay stay) {
  Setting setting;
  setting.stay = stay;
  const bool launched = stay != Setting::Stay::kWithRanks;
  std::vector<std::pair<const char*, std::string*>> wanted = {{kEnvRun, &setting.run},
                                                              {kEnvAddress, &setting.address}};
  if (!launched) {
    wanted.emplace_back(kEnvFolder, &setting.folder);
    wanted.emplace_back(kEnvHost, &setting.host);
  }
  for (const auto& [name, into] : wanted) {
    if (auto taken = take(name, *into); !taken) return unexpected(std::move(taken.error()));
  }
  if (launched) {
    setting.folder = backend::own_run_folders() + setting.run;
    setting.host = this_host_name();
  }
  if (const char* tls = std::getenv(kEnvTls)) setting.tls = std::string_view(tls) != "off";
  if (const char* level = std::getenv(kEnvLogLevel)) setting.log_level = level;
  auto front_end = net::parse_addresses(setting.address);
  if (!front_end) return unexpected(std::move(front_end.error()));
  setting.front_end = *std::move(front_end);
  auto key = launched ? take_key_from_environment() : net::read_key(kBackendKeyFd);
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
  options.host_watch.network_rate = [front_end = setting.front_end]() -> std::optional<double> {
    for (const wire::Address& it : front_end) {
      if (!it.host.empty()) return backend::network_rate(it.host);
    }
    return std::nullopt;
  };
  options.collector.host = setting.host;
  options.services.host = setting.host;
  options.services.folder = setting.folder;
  options.services.clock = monotonic_now;
  options.terminate_fd = terminate_fd;
  if (setting.stay == Setting::Stay::kUntilTold) {
    // Nobody would start another one for the next rank.
    options.linger = kForAges;
    options.first_linger = kForAges;
  } else if (setting.stay == Setting::Stay::kWithFound) {
    // Nobody else comes, and who is left alone at the end has no calls to be waited for; but who
    // got the same signal as we may show that it has ended.
    options.linger = 0;
    options.first_linger = 0;
    options.finish_patience = 300 * kMillisecond;
    // They fill no rings: what is left to do is done each second.
    options.idle_interval = 1 * kSecond;
  }
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

  overlay::NoticeBoard notices(
      {wire::Role::kBackEnd, setting.host, static_cast<std::uint32_t>(::getpid())});
  set_log_listener([&notices](Level level, std::string_view line) {
    notices.post(level, line, monotonic_now());
  });
  backend::GuardChannel channel(std::move(inheritance.channel), std::move(inheritance.listener),
                                folder);
  backend::CommProcessStarter starter(comm_process_setting(setting));
  backend::AgentOptions options = agent_options(setting, terminate.get());
  options.services.programs = inheritance.programs;
  backend::Agent agent(std::move(options), *journal, channel, starter);
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

// What RLIMIT_FSIZE allows, which holds for shared memory too; whole pages.
std::size_t largest_file() {
  constexpr std::size_t kPage = 4096;
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(limit.rlim_cur) / kPage * kPage;
}

// The guard, with a worker, until the end.
int guard(const Setting& setting, backend::RunFolder& folder, UniqueFd listener,
          std::vector<backend::HeldProcess> present = {}) {
  // What agents of earlier runs left that were killed with all that stood for them.
  backend::sweep_run_folders(backend::own_run_folders());

  backend::GuardOptions options;
  options.folder = setting.folder;
  options.journal_bytes = std::min(options.journal_bytes, largest_file());
  auto ended = backend::run_guard(
      options, std::move(listener),
      [&](backend::WorkerInheritance inheritance) {
        return work(setting, options, folder, std::move(inheritance));
      },
      std::move(present));
  if (ended) return *ended;
  log(Level::kError, ended.error().message);
  folder.remove();
  return kBadStart;
}

void start_log(const Setting& setting) {
  const char* log_file = std::getenv(kEnvLogFile);
  configure_log("xylem-backend", parse_level(setting.log_level),
                log_file == nullptr ? "" : log_file);
}

int run_for_rank() {
  auto setting = read_setting(Setting::Stay::kWithRanks);
  if (!setting) return fail(setting.error().message);
  start_log(*setting);
  backend::RunFolder folder(setting->folder);
  folder.hold();
  auto daemon = backend::daemonize();
  if (!daemon) return fail(daemon.error().message);
  if (!*daemon) return 0;
  return guard(*setting, folder, UniqueFd(kBackendListenFd));
}

// A launcher may have bound us to a processor of the job's: the scheduler shall choose.
void leave_binding() {
  unsigned char processors[1024];
  std::memset(processors, 0xff, sizeof processors);  // The kernel keeps to what we may use.
  ::syscall(SYS_sched_setaffinity, 0, sizeof processors, processors);
}

// Whoever reads our standard output learns that we stand, and that there is no more to come.
void say_ready(const Setting& setting, std::size_t ranks, const std::string& note) {
  std::printf("ready %s %zu%s%s\n", setting.host.c_str(), ranks, note.empty() ? "" : " ",
              note.c_str());
  std::fflush(stdout);
  const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(nowhere.get(), stream);
  }
}

int run_launched(const Setting& setting, std::vector<backend::HeldProcess> present,
                 const std::string& note) {
  auto claim = backend::claim_host(setting.folder);
  if (!claim) return fail(claim.error().message);
  leave_binding();
  ::umask(077);
  [[maybe_unused]] const int kept = ::chdir("/");  // Only lest it keep a file system busy.
  say_ready(setting, present.size(), note);
  if (!claim->listener) return 0;
  start_log(setting);
  return guard(setting, *claim->folder, std::move(claim->listener), std::move(present));
}

int run_beside_job() {
  auto setting = read_setting(Setting::Stay::kUntilTold);
  if (!setting) return fail(setting.error().message);
  return run_launched(*setting, {}, "");
}

int run_for_found(const std::vector<std::string>& words) {
  auto setting = read_setting(Setting::Stay::kWithFound);
  if (!setting) return fail(setting.error().message);
  const auto selection = backend::parse_selection(words);
  if (!selection) return fail(selection.error().message);
  // Where a job is named it is looked at whoever it belongs to, as far as the system lets us.
  const backend::ProcTable table = backend::read_proc_table(selection->is_named);
  std::vector<backend::HeldProcess> present;
  for (const backend::FoundRank& rank : backend::find_ranks(table.processes, *selection)) {
    auto held = backend::hold_quietly(rank);
    if (!held) return fail(held.error().message);
    if (held->pidfd) present.push_back(*std::move(held));
  }
  if (!present.empty()) return run_launched(*setting, std::move(present), "");
  say_ready(
      *setting, 0,
      table.unreadable == 0 ? "" : std::to_string(table.unreadable) + " processes may not be read");
  return 0;
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) {
  xylem::stretch_limits();  // The rank's are those of its job.
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return xylem::run_for_rank();
  if (words.front() == "--launched") {
    if (words.size() == 1) return xylem::run_beside_job();
    if (words[1] == "--find") return xylem::run_for_found({words.begin() + 2, words.end()});
  }
  return xylem::fail("it is started by ranks under xylem, or by launchers, with --launched");
}
