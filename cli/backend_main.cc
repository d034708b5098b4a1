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

#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "backend/agent/agent.h"
#include "backend/agent/agent_start.h"
#include "backend/agent/guard.h"
#include "backend/agent/guard_channel.h"
#include "backend/agent/host_claim.h"
#include "backend/agent/quiet_segment.h"
#include "backend/agent/run_folder.h"
#include "backend/find/proc_table.h"
#include "backend/find/rank_search.h"
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

// What an agent knows before it starts.
struct AgentTask {
  backend::AgentStart start;
  std::vector<wire::Address> front_end;
  net::Key key{};
  std::string host_key;  // Tells this agent from one that had the folder before it.
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

backend::CommProcessSetting comm_process_setting(const AgentTask& task) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  backend::CommProcessSetting child;
  child.program = program.parent_path() / "xylem-commproc";
  child.run = task.start.run;
  child.front_end = task.start.address;
  child.folder = task.start.folder;
  child.host = task.start.host;
  child.host_key = task.host_key;
  child.tls = task.start.tls;
  child.log_level = task.start.log_level;
  child.key = task.key;
  return child;
}

backend::AgentOptions agent_options(const AgentTask& task, int terminate_fd) {
  backend::AgentOptions options = backend::agent_options(task.start, task.front_end);
  options.host.host_key = task.host_key;
  for (const auto& it : net::interface_addresses()) options.host.addresses.push_back(it.address);
  options.terminate_fd = terminate_fd;
  return options;
}

// SIGTERM, which the guard has blocked, as a descriptor.
UniqueFd open_termination() {
  sigset_t term;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  return UniqueFd(::signalfd(-1, &term, SFD_CLOEXEC | SFD_NONBLOCK));
}

// The worker: from the guard's fork to its end.
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
  backend::CommProcessStarter starter(comm_process_setting(task));
  const UniqueFd terminate = open_termination();
  backend::AgentOptions options = agent_options(task, terminate.get());
  options.services.programs = inheritance.programs;
  backend::Agent agent(std::move(options), *journal, channel, starter);
  net::RuntimeOptions network;
  network.run = task.start.run;
  network.key = task.key;
  network.tls = task.start.tls;
  network.host_key = task.host_key;
  network.notices = &notices;
  const int code = net::run_node(agent, std::move(network));
  set_log_listener({});
  // A front end that was killed with all that started it leaves its folder.
  backend::sweep_run_folders(backend::own_run_folders());
  return code;
}

// The guard, with a worker, until the end.
int guard(const AgentTask& task, backend::RunFolder& folder, UniqueFd listener,
          std::vector<backend::HeldProcess> present = {}) {
  // What agents of earlier runs left that were killed with all that stood for them.
  backend::sweep_run_folders(backend::own_run_folders());
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
  [[maybe_unused]] const int kept = ::chdir("/");  // Only lest it keep a file system busy.
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
  // Where a job is named it is looked at whoever it belongs to, as far as the system lets us.
  const backend::ProcTable table = backend::read_proc_table(selection->is_named);
  auto present = backend::hold_all_quietly(backend::find_ranks(table.processes, *selection));
  if (!present) return fail(present.error().message);
  if (!present->empty()) return run_launched(*task, *std::move(present));
  backend::announce_ready(
      task->start.host, 0,
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
