// xylem-frontend: the root process. Started by `xylem run` and `xylem serve`, which hand it the
// listening sockets and a control channel; people never start it.
//
//   xylem-frontend CONTROL_FD LISTENING_FD...

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backend/agent/run_folder.h"
#include "base/log.h"
#include "base/own_process.h"
#include "base/this_host.h"
#include "cli/account_line.h"
#include "cli/live_runs.h"
#include "cli/run_options.h"
#include "cli/version.h"
#include "filters/plugin_copy.h"
#include "frontend/session.h"
#include "frontend/stream_fold.h"
#include "frontend/stream_options.h"
#include "launch/comm_process_launch.h"
#include "launch/front_end_process.h"
#include "launch/launch.h"
#include "launch/setup.h"
#include "net/runtime.h"
#include "storage/alert/alert_options.h"
#include "storage/write/replaced_run.h"
#include "storage/write/store.h"

namespace xylem {
namespace {

// The first line of the control channel; what follows stays in the socket.
Result<std::string> read_line(int fd) {
  std::string line;
  for (char c; ::read(fd, &c, 1) == 1;) {
    if (c == '\n') return line;
    line += c;
  }
  return unexpected(Code::kUnavailable, "the control channel ended before the setup arrived");
}

void answer(int fd, const std::string& line) {
  const std::string text = line + "\n";
  if (::send(fd, text.data(), text.size(), MSG_NOSIGNAL) < 0) {
    log(Level::kWarn, "the process that started the front end does not read its answers",
        {{"why", std::strerror(errno)}});
  }
}

// The setup that `xylem` has sent, and the plan of the run that was read from it.
struct Task {
  launch::Setup setup;
  RunOptions options;
};

Result<Task> read_task(int control_fd) {
  const auto line = read_line(control_fd);
  if (!line) return unexpected(line.error());
  auto setup = launch::parse_setup(*line);
  if (!setup) return unexpected(std::move(setup.error()));
  auto options = read_run_options(setup->settings, setup->sections);
  if (!options) return unexpected(std::move(options.error()));
  return Task{*std::move(setup), *std::move(options)};
}

storage::RunFacts facts_of(const Task& task) {
  storage::RunFacts facts;
  facts.run_id = task.setup.run;
  facts.command = task.setup.command;
  facts.directory = task.setup.directory;
  facts.user = task.setup.user;
  facts.host = this_host_name();
  facts.version = kVersion;
  facts.options = print_plan(task.options);
  facts.started_realtime_ns = realtime_now();
  facts.window_ns = task.options.session.window;
  facts.chunks = task.options.session.chunks;
  facts.epoch_ns = monotonic_now();
  return facts;
}

// With --test-size the folders of the pretended hosts carry a suffix; ours is no agent's.
bool agent_on_this_host(const std::string& run, const std::string& run_folder) {
  std::error_code error;
  const std::filesystem::path wanted(run_folder);
  const std::filesystem::path ours(launch::front_end_folder(run));
  for (const auto& entry : std::filesystem::directory_iterator(wanted.parent_path(), error)) {
    if (entry.path() == ours) continue;
    if (entry.path().filename().string().starts_with(wanted.filename().string())) return true;
  }
  return false;
}

// Whoever started us holds the copies too, for our successors; nobody whom we start shall.
frontend::PluginCopies plugin_copies(const launch::Setup& setup) {
  frontend::PluginCopies copies;
  for (std::size_t i = 0; i < setup.plugins.size(); ++i) {
    const int fd = static_cast<int>(setup.first_plugin_fd) + static_cast<int>(i);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    copies.emplace(setup.plugins[i], filters::name_of_copy(fd));
  }
  return copies;
}

bool is_unmerged(const launch::Setup& setup, StreamId stream) {
  return std::ranges::find(setup.unmerged_streams, std::to_string(raw(stream))) !=
         setup.unmerged_streams.end();
}

// Null where there are no plugins.
Result<std::shared_ptr<launch::FoldMark>> open_mark(const launch::Setup& setup) {
  if (setup.fold_mark_fd < 0) return std::shared_ptr<launch::FoldMark>();
  const int fd = static_cast<int>(setup.fold_mark_fd);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  auto mark = launch::FoldMark::of(UniqueFd(fd));
  if (!mark) return unexpected(std::move(mark.error()));
  return std::make_shared<launch::FoldMark>(*std::move(mark));
}

// A plugin that has ended front ends is not even loaded here, where it may have done so.
Result<std::vector<wire::StreamSpec>> streams_of(const launch::Setup& setup,
                                                 const std::shared_ptr<launch::FoldMark>& mark) {
  const frontend::LoadPlugin load = [&](StreamId stream, const auto& loads) -> Result<void> {
    if (is_unmerged(setup, stream)) return {};
    if (mark) mark->enter(stream);
    auto loaded = loads();
    if (mark) mark->leave();
    return loaded;
  };
  return frontend::read_streams(setup.sections, "configuration", plugin_copies(setup), load);
}

// Of streams whose plugin has ended front ends nothing is merged here.
Result<std::shared_ptr<const storage::StreamFold>> make_fold(
    const launch::Setup& setup, std::vector<wire::StreamSpec> streams,
    std::shared_ptr<launch::FoldMark> mark) {
  for (wire::StreamSpec& spec : streams) {
    if (is_unmerged(setup, spec.id)) spec.aggregation.clear();
  }
  return frontend::make_stream_fold(frontend::with_copies(std::move(streams), plugin_copies(setup)),
                                    std::move(mark));
}

// In the run's file, by each that does without.
void note_unmerged(const launch::Setup& setup, const std::vector<wire::StreamSpec>& streams,
                   storage::ResumedStore& opened) {
  storage::Batch batch;
  batch.at_ns = std::max<Nanos>(0, monotonic_now() - opened.past.epoch_ns);
  for (const wire::StreamSpec& spec : streams) {
    if (!is_unmerged(setup, spec.id)) continue;
    wire::Notice notice;
    notice.role = wire::Role::kFrontEnd;
    notice.host = this_host_name();
    notice.pid = static_cast<std::uint32_t>(::getpid());
    notice.text = "stream " + spec.name + ": its plugin " + spec.plugin +
                  " has crashed front ends; its waves are not merged from now on";
    log(Level::kWarn, "a plugin has crashed front ends; its stream is not merged any more",
        {{"stream", spec.name}, {"plugin", spec.plugin}});
    batch.rows.emplace_back(storage::NoticeRow{std::move(notice), batch.at_ns});
  }
  if (!batch.rows.empty()) storage::record_now(*opened.store, std::move(batch));
}

Result<storage::ResumedStore> open_store(const Task& task,
                                         const std::vector<wire::StreamSpec>& streams,
                                         std::shared_ptr<launch::FoldMark> mark) {
  const launch::Setup& setup = task.setup;
  auto fold = make_fold(setup, streams, std::move(mark));
  if (!fold) return unexpected(std::move(fold.error()));
  if (!setup.live_path.empty()) {
    storage::ResumeOptions former;
    former.path = setup.store;
    former.live_path = setup.live_path;
    former.run_id = setup.run;
    former.fold = *std::move(fold);
    former.alerts = task.options.alerts;
    return storage::resume_sqlite_store(former);
  }
  storage::SqliteOptions options;
  options.path = setup.store;
  options.pretend_file_system = setup.pretend_file_system;
  options.fold = *std::move(fold);
  options.alerts = task.options.alerts;
  auto store = storage::make_sqlite_store(options);
  if (!store) return unexpected(std::move(store.error()));
  storage::RunFacts facts = facts_of(task);
  facts.streams = frontend::stream_facts(streams);
  if (auto begun = (*store)->begin_run(facts); !begun) {
    return unexpected(std::move(begun.error()));
  }
  storage::Past past;
  past.epoch_ns = facts.epoch_ns;
  return storage::ResumedStore{*std::move(store), std::move(past)};
}

Result<storage::ReplacedRun> replaced_run(const Task& task) {
  const launch::Setup& setup = task.setup;
  if (!setup.live_path.empty()) return storage::ReplacedRun::of_former(setup.store, setup.run);
  storage::ReplaceOptions options;
  options.path = setup.store;
  options.run_id = setup.run;
  options.overwrite = task.options.overwrite;
  options.pretend_file_system = setup.pretend_file_system;
  return storage::ReplacedRun::set_aside(options);
}

frontend::SessionOptions session_options(const Task& task, int control_fd, storage::Past past) {
  frontend::SessionOptions options;
  options.plan = task.options.session;
  options.control_fd = control_fd;
  options.remote = task.setup.remote;
  options.past = std::move(past);
  options.agent_expected = [run = task.setup.run, folder = task.setup.run_folder] {
    return agent_on_this_host(run, folder);
  };
  return options;
}

// None where no launcher was given.
Result<std::unique_ptr<launch::CommProcessLauncher>> make_launcher(const Task& task) {
  const launch::StartOptions& start = task.options.start;
  if (start.launcher.empty()) return std::unique_ptr<launch::CommProcessLauncher>();
  auto installation = launch::find_installation();
  if (!installation) return unexpected(std::move(installation.error()));
  launch::CommProcessLaunchOptions options;
  options.launcher = start.launcher;
  options.program = installation->comm_process;
  options.run = task.setup.run;
  options.key = task.setup.key;
  options.tls = start.tls;
  options.log_level = task.options.log_level;
  std::unique_ptr<launch::CommProcessLauncher> launcher =
      std::make_unique<launch::RemoteCommProcessLauncher>(std::move(options));
  return launcher;
}

int fail(int control_fd, const Error& error) {
  answer(control_fd, "error " + error.message);
  return 2;
}

// A record that holds nothing takes the place of no other, and that of a job that was not started
// is none.
void tell_end(const Task& task, const frontend::SessionOutcome& outcome,
              storage::ReplacedRun& replaced) {
  const bool is_none = outcome.abandoned && !outcome.holds_something;
  const bool keeps_old = replaced.holds_record();
  if (is_none || keeps_old) {
    if (auto undone = replaced.undo(); !undone) log(Level::kError, undone.error().message);
  } else {
    replaced.keep_new();
  }
  if (task.options.quiet || !task.setup.counts_calls || outcome.abandoned) return;
  print_account_line(outcome, task.setup.store, keeps_old);
}

int run(int control_fd, std::vector<UniqueFd> listening) {
  const auto task = read_task(control_fd);
  if (!task) return fail(control_fd, task.error());
  const launch::Setup& setup = task->setup;
  configure_log("xylem-frontend", parse_level(task->options.log_level));
  auto launcher = make_launcher(*task);
  if (!launcher) return fail(control_fd, launcher.error());
  auto mark = open_mark(setup);
  if (!mark) return fail(control_fd, mark.error());
  auto streams = streams_of(setup, *mark);
  if (!streams) return fail(control_fd, streams.error());
  auto replaced = replaced_run(*task);
  if (!replaced) return fail(control_fd, replaced.error());
  auto opened = open_store(*task, *streams, *mark);
  if (!opened) return fail(control_fd, opened.error());
  note_unmerged(setup, *streams, *opened);
  auto recorder = storage::make_thread_recorder(*opened->store);
  if (!recorder) return fail(control_fd, recorder.error());
  answer(control_fd, "ready " + opened->store->live_path());

  // Of our Unix socket. Whoever started us removes it too, unless it was killed.
  backend::RunFolder folder(launch::front_end_folder(setup.run));
  folder.hold();
  note_live_run(setup.run, opened->store->live_path());

  net::RuntimeOptions network;
  network.run = setup.run;
  network.key = setup.key;
  network.tls = task->options.start.tls;
  network.node = kFrontEndNode;
  network.is_root = true;
  network.listening = std::move(listening);
  network.reachable_hosts = setup.reachable_hosts;
  auto options = session_options(*task, control_fd, std::move(opened->past));
  options.launcher = launcher->get();
  options.streams = *std::move(streams);
  options.on_first_record = [&replaced] { replaced->keep_new(); };
  frontend::Session session(std::move(options), **recorder);
  const int code = net::run_node(session, std::move(network));
  if (code == frontend::Session::kReplaced) {
    replaced->release();  // The rest is the other one's.
    return code;
  }
  folder.remove();
  recorder->reset();
  opened->store.reset();
  tell_end(*task, session.outcome(), *replaced);
  answer(control_fd, "done");
  return code;
}

// Descriptors come by number on the command line; they are no secret.
bool parse_fd(const char* text, int& fd) {
  const char* end = text + std::strlen(text);
  return std::from_chars(text, end, fd).ptr == end && ::fcntl(fd, F_GETFD) >= 0;
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  xylem::stretch_limits();
  int control = -1;
  std::vector<xylem::UniqueFd> listening;
  bool usable = argc >= 3 && xylem::parse_fd(argv[1], control);
  for (int i = 2; usable && i < argc; ++i) {
    int fd = -1;
    usable = xylem::parse_fd(argv[i], fd);
    if (usable) listening.emplace_back(fd);
  }
  if (!usable) {
    std::fprintf(stderr, "xylem-frontend is started by `xylem run` and `xylem serve`\n");
    return 2;
  }
  return xylem::run(control, std::move(listening));
}
