// xylem-frontend is the root of the tree. Users never start it. `xylem run`, `xylem serve` and
// `xylem attach` start it and pass it a control channel and the listening sockets.
//
//   xylem-frontend CONTROL_FD LISTENING_FD...

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backend/agent/run_folder.h"
#include "base/log.h"
#include "base/own_process.h"
#include "base/this_host.h"
#include "cli/account_line.h"
#include "cli/finding_lines.h"
#include "cli/run_options.h"
#include "cli/version.h"
#include "frontend/run_streams.h"
#include "frontend/session.h"
#include "frontend/stream_fold.h"
#include "launch/comm_process_launch.h"
#include "launch/front_end_process.h"
#include "launch/launch.h"
#include "launch/live_runs.h"
#include "launch/refusal.h"
#include "launch/setup.h"
#include "net/runtime.h"
#include "storage/write/recorder.h"
#include "storage/write/run_record.h"
#include "storage/write/source_lines.h"

namespace xylem {
namespace {

storage::RecordOptions record_options(const launch::Setup& setup, const RunOptions& plan,
                                      const frontend::RunStreams& streams) {
  storage::RecordOptions options;
  options.path = setup.store;
  options.live_path = setup.live_path;
  options.overwrite = plan.overwrite;
  options.pretend_file_system = setup.pretend_file_system;
  options.alerts = plan.alerts;
  if (setup.counts_calls && !plan.quiet) {
    // Called on the store's thread alone.
    options.on_alert = [lines = AlertLines()](const storage::Alert& alert) mutable {
      const std::string line = lines.line(alert, monotonic_now());
      if (!line.empty()) print_line(line);
    };
  }
  options.fold = streams.fold;
  options.facts.run_id = setup.run;
  options.facts.command = setup.command;
  options.facts.directory = setup.directory;
  options.facts.user = setup.user;
  options.facts.host = this_host_name();
  options.facts.version = kVersion;
  options.facts.options = print_plan(plan);
  options.facts.started_realtime_ns = realtime_now();
  options.facts.window_ns = plan.session.window;
  options.facts.chunks = plan.session.chunks;
  options.facts.epoch_ns = monotonic_now();
  options.facts.streams = frontend::stream_facts(streams.specs);
  return options;
}

net::RuntimeOptions network_options(const launch::Setup& setup, const RunOptions& plan,
                                    std::vector<UniqueFd> listening) {
  net::RuntimeOptions options;
  options.run = setup.run;
  options.key = setup.key;
  options.tls = plan.start.tls;
  options.node = kFrontEndNode;
  options.is_root = true;
  options.listening = std::move(listening);
  options.reachable_hosts = setup.reachable_hosts;
  return options;
}

void find_source_lines_here(const std::string& store) {
  ::unsetenv("DEBUGINFOD_URLS");  // The end of a run waits for no server.
  const auto found = storage::resolve_call_sites(store);
  if (!found) {
    log(Level::kWarn, "the source lines of calls are not stored", {{"why", found.error().message}});
    return;
  }
  for (const auto& [object, why] : found->unusable) {
    log(Level::kInfo, "no source lines of a program or library", {{"file", object}, {"why", why}});
  }
}

/// Waits until a child has ended well. Kills it if it has not ended in time, and does not wait for
/// ever even then. Returns why it has not ended well; null if it has.
const char* why_not_done(pid_t child, int control_fd) {
  constexpr int kPatienceS = 10;
  constexpr int kSecondMs = 1000;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!process) ::kill(child, SIGKILL);
  pollfd end{process.get(), POLLIN, 0};
  bool has_ended = !process;
  for (int i = 0; i < kPatienceS && !has_ended; ++i) {
    launch::send_answer(control_fd, "alive");
    has_ended = ::poll(&end, 1, kSecondMs) > 0;
  }
  if (!has_ended) {
    ::kill(child, SIGKILL);
    // A process that waits for a file system may not end.
    if (::poll(&end, 1, kSecondMs) <= 0) return "a file system does not answer";
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!process) return "no descriptor is left";
  if (!has_ended) return "reading the debugging information takes too long";
  return status == 0 ? nullptr : "the process that reads debugging information died";
}

// Debugging information belongs to the job: it may be damaged, or so large that it takes too long.
// So a process of its own reads it. Without lines the run is whole; `xylem lines` finds them later.
void find_source_lines(const std::string& store, int control_fd) {
  // All data is stored, and this process ends soon.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);  // The parent had already ended.
    find_source_lines_here(store);
    ::_exit(0);
  }
  const char* const why = child < 0 ? "no process can be started" : why_not_done(child, control_fd);
  if (why != nullptr) log(Level::kWarn, "the source lines of calls are not stored", {{"why", why}});
}

int fail(int control_fd, const Error& error) {
  launch::send_answer(control_fd, "error " + error.message);
  return 2;
}

int run(int control_fd, std::vector<UniqueFd> listening) {
  const auto setup = launch::receive_setup(control_fd);
  if (!setup) return fail(control_fd, setup.error());
  const auto plan = read_run_options(setup->settings, setup->sections);
  if (!plan) return fail(control_fd, plan.error());
  configure_log("xylem-frontend", parse_level(plan->log_level));

  auto launcher =
      launch::make_comm_process_launcher(plan->start, setup->run, setup->key, plan->log_level);
  if (!launcher) return fail(control_fd, launcher.error());
  auto streams = frontend::open_run_streams(*setup);
  if (!streams) return fail(control_fd, streams.error());
  auto record = storage::RunRecord::open(record_options(*setup, *plan, *streams));
  if (!record) return fail(control_fd, record.error());
  storage::Past past = record->take_past();
  frontend::record_unmerged(*streams, record->store(), monotonic_now() - past.epoch_ns);
  auto recorder = storage::make_thread_recorder(record->store());
  if (!recorder) return fail(control_fd, recorder.error());
  const std::string live_path = record->store().live_path();
  launch::send_answer(control_fd, "ready " + live_path);

  // The front end's Unix socket is in this folder.
  backend::RunFolder folder(launch::front_end_folder(setup->run));
  folder.hold();
  launch::note_live_run(setup->run, live_path);

  frontend::SessionOptions options;
  options.plan = plan->session;
  options.streams = streams->specs;
  options.control_fd = control_fd;
  options.agent_expected = [&setup] { return launch::has_agent_folder(setup->run); };
  options.remote = setup->remote;
  options.launcher = launcher->get();
  options.past = std::move(past);
  options.on_first_record = [&record] { record->keep(); };
  frontend::Session session(std::move(options), **recorder);
  const int code = net::run_node(session, network_options(*setup, *plan, std::move(listening)));
  if (code == frontend::Session::kReplaced) {
    record->leave_to_successor();
    return code;
  }

  folder.remove();
  recorder->reset();
  const frontend::SessionOutcome& outcome = session.outcome();
  // On a network file system, SQLite must not write into the file.
  const bool is_local = live_path == setup->store;
  if (outcome.holds_something && plan->session.chunks && is_local)
    find_source_lines(setup->store, control_fd);
  const bool keeps_old = record->end(!outcome.abandoned, outcome.holds_something);
  const std::vector<std::string> environment = launch::current_environment();
  if (setup->counts_calls && !plan->quiet && !outcome.abandoned) {
    print_account_line(outcome, setup->store, keeps_old,
                       launch::refused_launch(setup->command, launch::variable(environment, "PATH"),
                                              environment, outcome.exit_code, ::geteuid() == 0));
    if (!keeps_old && outcome.holds_something) {
      for (const std::string& line : finding_lines(setup->store)) print_line(line);
    }
  }
  launch::send_answer(control_fd, "done");
  return code;
}

// Returns -1 if `text` is not the number of an open descriptor.
int parse_fd(const char* text) {
  int fd = -1;
  const char* end = text + std::strlen(text);
  const bool is_open = std::from_chars(text, end, fd).ptr == end && ::fcntl(fd, F_GETFD) >= 0;
  return is_open ? fd : -1;
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  xylem::stretch_limits();
  std::vector<int> fds;
  for (int i = 1; i < argc; ++i) fds.push_back(xylem::parse_fd(argv[i]));
  if (fds.size() < 2 || std::ranges::count(fds, -1) > 0) {
    std::fprintf(stderr, "xylem-frontend is started by `xylem run` and `xylem serve`\n");
    return 2;
  }
  return xylem::run(fds.front(), std::vector<xylem::UniqueFd>(fds.begin() + 1, fds.end()));
}
