// xylem-backend is the agent of a host. Users never start it. There are three ways to start it:
//
//   xylem-backend                           the capture library of the host's first rank
//   xylem-backend --launched                a launcher, before the host has ranks
//   xylem-backend --launched --find WORDS   a launcher, for ranks that are already running
//
// The capture library passes two descriptors: 3 is the listening socket in the run's folder, and 4
// is a pipe with the key. Environment: XYLEM_ADDRESS, XYLEM_RUN, XYLEM_FOLDER, XYLEM_HOST. The
// program returns immediately. A daemon remains, the guard, and the guard starts the worker.
//
// A launcher passes XYLEM_ADDRESS, XYLEM_RUN and XYLEM_KEY. The agent makes the run's folder and
// the socket, prints "ready HOST 0" and stays in the foreground until the run is over. With --find
// it first searches for ranks (WORDS: backend/find/selection_text.h), prints how many it has found,
// and ends with them. It is no error if there are none.
//
// XYLEM_TLS (on or off), XYLEM_LOG_LEVEL and XYLEM_LOG_FILE are optional.

#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "backend/agent/agent.h"
#include "backend/agent/agent_start.h"
#include "backend/agent/call_watch.h"
#include "backend/agent/guard.h"
#include "backend/agent/guard_channel.h"
#include "backend/agent/host_claim.h"
#include "backend/agent/quiet_segment.h"
#include "backend/agent/run_folder.h"
#include "backend/find/selection_text.h"
#include "backend/leaf/mapping.h"
#include "backend/leaf/process_starter.h"
#include "base/log.h"
#include "base/own_process.h"
#include "base/run_contract.h"
#include "net/address.h"
#include "net/runtime.h"

namespace xylem {
namespace {

constexpr int kBadStart = 2;

// The agent's settings from its environment.
struct AgentTask {
  backend::AgentStart start;
  std::vector<wire::Address> front_end;
  net::Key key{};
  std::string host_key;  // Not the key of an earlier agent with this folder.
};

int fail(const std::string& sentence) {
  std::fprintf(stderr, "xylem-backend: %s\n", sentence.c_str());
  return kBadStart;
}

Result<AgentTask> read_task(backend::Stay stay) {
  auto start = backend::read_agent_start(stay);
  if (!start) return unexpected(std::move(start.error()));
  auto front_end = net::parse_addresses(start->address);
  if (!front_end) return unexpected(std::move(front_end.error()));
  const bool has_pipe = stay == backend::Stay::kWithRanks;
  auto key = has_pipe ? net::read_key(kBackendKeyFd) : net::take_key_from_environment();
  if (!key) return unexpected(std::move(key.error()));
  std::uint8_t random[8];
  net::fill_random(random);
  std::string host_key = start->folder + ":" + net::to_hex(random);
  return AgentTask{*std::move(start), *std::move(front_end), *key, std::move(host_key)};
}

backend::AgentOptions agent_options(const AgentTask& task, int terminate_fd) {
  backend::AgentOptions options = backend::agent_options(task.start, task.front_end);
  options.host.host_key = task.host_key;
  for (const auto& it : net::interface_addresses()) options.host.addresses.push_back(it.address);
  options.terminate_fd = terminate_fd;
  return options;
}

// A descriptor that becomes readable at SIGTERM. The guard has blocked this signal.
UniqueFd open_termination() {
  sigset_t term;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  return UniqueFd(::signalfd(-1, &term, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Runs the worker, in a child of the guard.
int work(const AgentTask& task, std::size_t journal_bytes, backend::RunFolder folder,
         backend::WorkerInheritance inheritance) {
  auto memory = backend::Mapping::of(inheritance.journal.get(), journal_bytes);
  auto journal = memory ? backend::Journal::open(memory->bytes()) : unexpected(memory.error());
  if (!journal) {
    log(Level::kError, journal.error().message);
    folder.remove();
    return kBadStart;
  }
  overlay::NoticeBoard notices(
      {wire::Role::kBackEnd, task.start.host, static_cast<std::uint32_t>(::getpid())});
  set_log_listener([&notices](Level level, std::string_view line) {
    notices.post(level, line, monotonic_now());
  });
  backend::GuardChannel channel(std::move(inheritance.channel), std::move(inheritance.listener),
                                folder);
  backend::CommProcessSetting comm_process =
      backend::comm_process_setting(task.start, task.host_key);
  comm_process.key = task.key;
  backend::CommProcessStarter starter(std::move(comm_process));
  const UniqueFd terminate = open_termination();
  backend::AgentOptions options = agent_options(task, terminate.get());
  options.services.programs = inheritance.programs;
  backend::FutexWatch call_watch;
  options.call_watch = &call_watch;
  backend::Agent agent(std::move(options), *journal, channel, starter);
  net::RuntimeOptions network;
  network.run = task.start.run;
  network.key = task.key;
  network.tls = task.start.tls;
  network.host_key = task.host_key;
  network.notices = &notices;
  const int code = net::run_node(agent, std::move(network));
  set_log_listener({});
  backend::sweep_own_run_folders();
  return code;
}

// Runs the guard, which starts the worker.
int guard(const AgentTask& task, backend::RunFolder& folder, UniqueFd listener,
          std::vector<backend::HeldProcess> present = {}) {
  backend::sweep_own_run_folders();
  const backend::GuardOptions options = backend::guard_options(task.start);
  auto ended = backend::run_guard(
      options, std::move(listener),
      [&](backend::WorkerInheritance inheritance) {
        return work(task, options.journal_bytes, folder, std::move(inheritance));
      },
      std::move(present));
  if (ended) return *ended;
  log(Level::kError, ended.error().message);
  folder.remove();
  return kBadStart;
}

void start_log(const backend::AgentStart& start) {
  configure_log("xylem-backend", parse_level(start.log_level), start.log_file);
}

int run_for_rank() {
  const auto task = read_task(backend::Stay::kWithRanks);
  if (!task) return fail(task.error().message);
  start_log(task->start);
  backend::RunFolder folder(task->start.folder);
  folder.hold();
  auto daemon = backend::daemonize();
  if (!daemon) return fail(daemon.error().message);
  if (!*daemon) return 0;
  return guard(*task, folder, UniqueFd(kBackendListenFd));
}

int run_launched(const AgentTask& task, std::vector<backend::HeldProcess> present) {
  auto claim = backend::claim_host(task.start.folder);
  if (!claim) return fail(claim.error().message);
  use_all_processors();
  ::umask(077);
  [[maybe_unused]] const int kept = ::chdir("/");  // The daemon must not block an unmount.
  backend::announce_ready(task.start.host, present.size(), "");
  if (!claim->listener) return 0;
  start_log(task.start);
  return guard(task, *claim->folder, std::move(claim->listener), std::move(present));
}

int run_beside_job() {
  const auto task = read_task(backend::Stay::kUntilTold);
  if (!task) return fail(task.error().message);
  return run_launched(*task, {});
}

int run_for_found(const std::vector<std::string>& words) {
  const auto task = read_task(backend::Stay::kWithFound);
  if (!task) return fail(task.error().message);
  const auto selection = backend::parse_selection(words);
  if (!selection) return fail(selection.error().message);
  auto present = backend::hold_selected(*selection);
  if (!present) return fail(present.error().message);
  if (!present->held.empty()) return run_launched(*task, std::move(present->held));
  backend::announce_ready(task->start.host, 0, present->note);
  return 0;
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) {
  xylem::stretch_limits();  // A rank that starts the agent may have small limits.
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return xylem::run_for_rank();
  if (words.front() == "--launched") {
    if (words.size() == 1) return xylem::run_beside_job();
    if (words[1] == "--find") return xylem::run_for_found({words.begin() + 2, words.end()});
  }
  return xylem::fail("it is started by ranks under xylem, or by launchers, with --launched");
}
