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

storage::RunFacts facts_of(const launch::Setup& setup) {
  storage::RunFacts facts;
  facts.run_id = setup.run;
  facts.command = setup.command;
  facts.directory = setup.directory;
  facts.user = setup.user;
  facts.host = this_host_name();
  facts.version = kVersion;
  facts.options = setup.options;
  facts.started_realtime_ns = realtime_now();
  facts.window_ns = setup.window;
  facts.chunks = setup.chunks;
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
  return frontend::read_streams(setup.streams, "configuration", plugin_copies(setup), load);
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

Result<storage::ResumedStore> open_store(const launch::Setup& setup,
                                         const std::vector<wire::StreamSpec>& streams,
                                         std::shared_ptr<launch::FoldMark> mark) {
  auto fold = make_fold(setup, streams, std::move(mark));
  if (!fold) return unexpected(std::move(fold.error()));
  auto alerts = storage::read_alert_limits(setup.alerts, "configuration");
  if (!alerts) return unexpected(std::move(alerts.error()));
  if (!setup.live_path.empty()) {
    storage::ResumeOptions former;
    former.path = setup.store;
    former.live_path = setup.live_path;
    former.run_id = setup.run;
    former.fold = *std::move(fold);
    former.alerts = *alerts;
    return storage::resume_sqlite_store(former);
  }
  storage::SqliteOptions options;
  options.path = setup.store;
  options.pretend_file_system = setup.pretend_file_system;
  options.fold = *std::move(fold);
  options.alerts = *alerts;
  auto store = storage::make_sqlite_store(options);
  if (!store) return unexpected(std::move(store.error()));
  storage::RunFacts facts = facts_of(setup);
  facts.streams = frontend::stream_facts(streams);
  if (auto begun = (*store)->begin_run(facts); !begun) {
    return unexpected(std::move(begun.error()));
  }
  storage::Past past;
  past.epoch_ns = facts.epoch_ns;
  return storage::ResumedStore{*std::move(store), std::move(past)};
}

Result<storage::ReplacedRun> replaced_run(const launch::Setup& setup) {
  if (!setup.live_path.empty()) return storage::ReplacedRun::of_former(setup.store, setup.run);
  storage::ReplaceOptions options;
  options.path = setup.store;
  options.run_id = setup.run;
  options.overwrite = setup.overwrite;
  options.pretend_file_system = setup.pretend_file_system;
  return storage::ReplacedRun::set_aside(options);
}

Result<frontend::HostChoice> host_choice(const launch::Setup& setup) {
  frontend::HostChoice choice;
  const auto policy = placement::parse_policy(setup.placement);
  if (!policy) return unexpected(policy.error());
  choice.policy = *policy;
  auto rules = placement::read_fuzzy_rules(setup.fuzzy, "configuration");
  if (!rules) return unexpected(std::move(rules.error()));
  choice.rules = *std::move(rules);
  const auto where = placement::parse_comm_hosts(setup.comm_on);
  if (!where) return unexpected(where.error());
  choice.room.where = *where;
  choice.room.excluded = setup.excluded;
  choice.room.excluded_may_be_absent = true;
  if (setup.most_per_host >= 0) {
    choice.room.most_per_host = static_cast<std::uint64_t>(setup.most_per_host);
  }
  choice.room.reserved_cores = static_cast<std::uint64_t>(std::max(0L, setup.reserved_cores));
  choice.room.reserve_for_processes = setup.reserve_for_processes;
  choice.extra_hosts = setup.extra_hosts;
  return choice;
}

frontend::SessionOptions session_options(const launch::Setup& setup, const tree::Shape& shape,
                                         int control_fd, storage::Past past) {
  frontend::SessionOptions options;
  options.facts_every = setup.facts_every;
  options.shape = shape;
  options.settle = setup.settle;
  options.window = setup.window;
  options.chunks = setup.chunks;
  options.services = setup.services;
  options.control_fd = control_fd;
  options.remote = setup.remote;
  options.past = std::move(past);
  options.agent_expected = [run = setup.run, folder = setup.run_folder] {
    return agent_on_this_host(run, folder);
  };
  return options;
}

// None where no launcher was given.
Result<std::unique_ptr<launch::CommProcessLauncher>> make_launcher(const launch::Setup& setup) {
  if (setup.launcher.empty()) return std::unique_ptr<launch::CommProcessLauncher>();
  auto installation = launch::find_installation();
  if (!installation) return unexpected(std::move(installation.error()));
  launch::CommProcessLaunchOptions options;
  options.launcher = setup.launcher;
  options.program = installation->comm_process;
  options.run = setup.run;
  options.key = setup.key;
  options.tls = setup.tls;
  options.log_level = setup.log_level;
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
void tell_end(const launch::Setup& setup, const frontend::SessionOutcome& outcome,
              storage::ReplacedRun& replaced) {
  const bool is_none = outcome.abandoned && !outcome.holds_something;
  const bool keeps_old = replaced.holds_record();
  if (is_none || keeps_old) {
    if (auto undone = replaced.undo(); !undone) log(Level::kError, undone.error().message);
  } else {
    replaced.keep_new();
  }
  if (setup.quiet || outcome.abandoned) return;
  print_account_line(outcome, setup.store, keeps_old);
}

int run(int control_fd, std::vector<UniqueFd> listening) {
  auto line = read_line(control_fd);
  if (!line) return fail(control_fd, line.error());
  auto setup = launch::parse_setup(*line);
  if (!setup) return fail(control_fd, setup.error());
  configure_log("xylem-frontend", parse_level(setup->log_level));
  auto shape = tree::parse_shape(setup->shape);
  if (!shape) return fail(control_fd, shape.error());
  auto choice = host_choice(*setup);
  if (!choice) return fail(control_fd, choice.error());
  auto launcher = make_launcher(*setup);
  if (!launcher) return fail(control_fd, launcher.error());
  auto mark = open_mark(*setup);
  if (!mark) return fail(control_fd, mark.error());
  auto streams = streams_of(*setup, *mark);
  if (!streams) return fail(control_fd, streams.error());
  auto replaced = replaced_run(*setup);
  if (!replaced) return fail(control_fd, replaced.error());
  auto opened = open_store(*setup, *streams, *mark);
  if (!opened) return fail(control_fd, opened.error());
  note_unmerged(*setup, *streams, *opened);
  auto recorder = storage::make_thread_recorder(*opened->store);
  if (!recorder) return fail(control_fd, recorder.error());
  answer(control_fd, "ready " + opened->store->live_path());

  // Of our Unix socket. Whoever started us removes it too, unless it was killed.
  backend::RunFolder folder(launch::front_end_folder(setup->run));
  folder.hold();
  note_live_run(setup->run, opened->store->live_path());

  net::RuntimeOptions network;
  network.run = setup->run;
  network.key = setup->key;
  network.tls = setup->tls;
  network.node = kFrontEndNode;
  network.is_root = true;
  network.listening = std::move(listening);
  network.reachable_hosts = setup->reachable_hosts;
  auto options = session_options(*setup, *shape, control_fd, std::move(opened->past));
  options.launcher = launcher->get();
  options.choice = *std::move(choice);
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
  tell_end(*setup, session.outcome(), *replaced);
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
