#include "launch/front_end_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/argv.h"
#include "base/run_contract.h"
#include "launch/spawn_error_internal.h"

namespace xylem::launch {
namespace {

constexpr int kChildControlFd = 3;
constexpr Nanos kLookAtStart = 50 * kMillisecond;  // Until a successor is ready.
constexpr Nanos kLookAtEnd = 250 * kMillisecond;

// Errors are ignored here. reap_if_dead() notices a dead front end, and end_if_still() a hanging
// one.
void write_line(int fd, const std::string& line) {
  const std::string text = line + "\n";
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t size = ::send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    at += static_cast<std::size_t>(size);
  }
}

// The child gets the control channel, the listening sockets and the other descriptors. The numbers
// of the listening sockets are arguments.
Result<pid_t> spawn(const std::string& program, int control, const std::vector<UniqueFd>& listening,
                    const std::vector<int>& others) {
  std::vector<std::string> arguments = {program, std::to_string(kChildControlFd)};
  std::vector<int> wanted = {control};
  for (const UniqueFd& socket : listening) wanted.push_back(socket.get());
  wanted.insert(wanted.end(), others.begin(), others.end());
  // Copies the descriptors to numbers just above those that the child will use, so that they do not
  // collide. The limit for descriptors may be low.
  const int first_spare = kChildControlFd + static_cast<int>(wanted.size());
  std::vector<UniqueFd> lifted;
  for (const int fd : wanted) {
    lifted.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, first_spare));
    if (lifted.back()) continue;
    return unexpected(Code::kExhausted, std::string("no descriptors for the front end: ") +
                                            std::strerror(errno) + "; raise the limit (ulimit -n)");
  }

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  for (std::size_t i = 0; i < lifted.size(); ++i) {
    const int target = kChildControlFd + static_cast<int>(i);
    ::posix_spawn_file_actions_adddup2(&actions, lifted[i].get(), target);
    if (i > 0 && i <= listening.size()) arguments.push_back(std::to_string(target));
  }
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &none);

  const std::vector<char*> argv = argv_of(arguments);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return unexpected(code_of_spawn_error(error),
                      program + ": cannot be started: " + std::strerror(error));
  }
  return pid;
}

std::string how_it_ended(int status) {
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                             : "code " + std::to_string(WEXITSTATUS(status));
}

std::string in_seconds(Nanos pause) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g s",
                static_cast<double>(pause) / static_cast<double>(kSecond));
  return text.data();
}

void wait_readable(int fd, Nanos max_wait) {
  pollfd waiting{fd, POLLIN, 0};
  ::poll(&waiting, 1, static_cast<int>(max_wait / kMillisecond));
}

// The path of a folder of this run. An agent has the user of the rank that has started it, and the
// rank may have changed its user.
bool is_run_folder_of_its_user(const std::string& file, const std::string& run) {
  std::string_view path = file;
  if (!path.starts_with(kRunFolders)) return false;
  path.remove_prefix(std::string_view(kRunFolders).size());
  const std::size_t user_end = path.find_first_not_of("0123456789");
  if (user_end == 0 || user_end == std::string_view::npos) return false;
  if (!path.substr(user_end).starts_with("-" + run)) return false;
  // Anybody can make files there. A folder with another owner is none of an agent.
  struct stat found {};
  return ::lstat(file.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         std::to_string(found.st_uid) == path.substr(0, user_end);
}

}  // namespace

Result<FrontEndProcess> FrontEndProcess::start(const std::string& program, Setup setup,
                                               std::vector<UniqueFd> listening,
                                               std::vector<UniqueFd> plugins, const Say& say,
                                               const Patience& patience) {
  FrontEndProcess process(program, std::move(setup), std::move(listening), std::move(plugins),
                          patience);
  if (!process.plugins_.empty()) {
    auto mark = FoldMark::make();
    if (!mark) return unexpected(std::move(mark.error()));
    process.mark_ = *std::move(mark);
    const std::size_t first = kChildControlFd + 1 + process.listening_.size();
    process.setup_.first_plugin_fd = static_cast<long>(first);
    process.setup_.fold_mark_fd = static_cast<long>(first + process.plugins_.size());
  }
  if (auto launched = process.launch(); !launched) return unexpected(std::move(launched.error()));
  while (process.is_there() && !process.is_ready_) {
    wait_readable(process.control_.get(), kLookAtStart);
    process.hear();
    process.reap_if_dead(monotonic_now());
    process.end_if_still(monotonic_now(), say);
  }
  if (process.is_ready_) return process;
  if (!process.failure_.empty()) return unexpected(Code::kInvalidArgument, process.failure_);
  return unexpected(Code::kUnavailable, "the front end died at its start (" + process.death_ + ")");
}

Result<void> FrontEndProcess::launch() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return unexpected(Code::kInternal, std::string("no socket pair: ") + std::strerror(errno));
  }
  control_.reset(ends[0]);
  UniqueFd theirs(ends[1]);
  // A front end that hangs reads nothing.
  const timeval max_wait{static_cast<time_t>(patience_.until_killed / kSecond), 1};
  ::setsockopt(control_.get(), SOL_SOCKET, SO_SNDTIMEO, &max_wait, sizeof max_wait);
  heard_.clear();
  failure_.clear();
  is_ready_ = false;
  std::vector<int> others;
  for (const UniqueFd& plugin : plugins_) others.push_back(plugin.get());
  if (mark_) others.push_back(mark_->fd());
  auto pid = spawn(program_, theirs.get(), listening_, others);
  if (!pid) return unexpected(std::move(pid.error()));
  pid_ = *pid;
  standstill_.follow(pid_, monotonic_now());
  standstill_is_said_ = false;
  killed_at_ = 0;
  theirs.reset();
  write_line(control_.get(), to_json(setup_));
  return {};
}

// ---- what it says ----

void FrontEndProcess::hear() {
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t size = ::recv(control_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    standstill_.heard();
    heard_.append(piece.data(), static_cast<std::size_t>(size));
  }
  for (std::size_t end; (end = heard_.find('\n')) != std::string::npos;) {
    handle_line(heard_.substr(0, end));
    heard_.erase(0, end + 1);
  }
}

void FrontEndProcess::handle_line(const std::string& line) {
  constexpr std::string_view kReady = "ready ";
  constexpr std::string_view kError = "error ";
  if (line.starts_with(kReady)) {
    is_ready_ = true;
    setup_.live_path = line.substr(kReady.size());
    if (last_line_) tell_to_finish();
  } else if (line.starts_with(kError)) {
    failure_ = line.substr(kError.size());
  } else if (line == "done") {
    is_done_ = true;
  }
}

void FrontEndProcess::tell_to_finish() { write_line(control_.get(), *last_line_); }

// ---- its death ----

void FrontEndProcess::reap_if_dead(Nanos now) {
  int status = 0;
  if (!is_there() || ::waitpid(pid_, &status, WNOHANG) != pid_) return;
  hear();  // Its last words.
  pid_ = -1;
  control_.reset();
  is_death_undecided_ = true;
  death_ = killed_at_ != 0 ? "it hung" : how_it_ended(status);
  blame_plugin(now);
}

// ---- hangs ----

// Does something only while an answer of the front end is needed.
void FrontEndProcess::end_if_still(Nanos now, const Say& say) {
  if (!is_there() || (is_ready_ && !last_line_)) return;
  const std::string name = "the front end (process " + std::to_string(pid_) + ")";
  if (killed_at_ != 0) {
    if (now - killed_at_ < patience_.until_left) return;
    pid_ = -1;
    control_.reset();
    death_ = "it hangs and cannot be killed";
    is_given_up_ = true;
    return;
  }
  const Nanos duration = standstill_.look(now);
  if (duration >= patience_.until_killed) {
    if (last_line_) ++standstills_;
    killed_at_ = now;
    ::kill(pid_, SIGKILL);
    if (say) say(name + " has hung for " + in_seconds(duration) + " and is killed");
  } else if (duration >= patience_.until_said && !std::exchange(standstill_is_said_, true)) {
    const bool is_stopped = work_of(pid_).value_or(Work{}).stopped;
    if (!say) return;
    say(name + (is_stopped ? " is stopped" : " hangs") + "; it is killed after " +
        in_seconds(patience_.until_killed) + (is_stopped ? ", and kill -CONT lets it go on" : ""));
  }
}

// A wave that crashes a plugin comes again to each successor. Without this function, no further
// data of the run could be stored.
void FrontEndProcess::blame_plugin(Nanos now) {
  blame_.clear();
  was_in_fold_ = false;
  const auto stream = mark_ ? mark_->take() : std::nullopt;
  if (!stream || is_done_) return;
  FoldDeaths& deaths = deaths_in_fold_[*stream];
  if (deaths.count >= kMaxFoldDeaths) return;  // It is left out.
  was_in_fold_ = true;
  if (!last_line_ && now >= deaths.last + kFoldDeathsForgotten) deaths.count = 0;
  deaths.last = now;
  if (++deaths.count < kMaxFoldDeaths) return;
  restarts_ = {};  // The cause of the deaths is gone.
  setup_.unmerged_streams.push_back(std::to_string(raw(*stream)));
  blame_ = "; the plugin of a stream has ended " + std::to_string(kMaxFoldDeaths) +
           " front ends: that stream's waves are not merged from now on";
}

void FrontEndProcess::decide(Nanos now, const Say& say) {
  if (last_line_ && !was_in_fold_) ++deaths_while_finishing_;
  if (last_line_ && (interrupts_ > 1 || deaths_while_finishing_ >= kMaxDeaths ||
                     standstills_ >= kMaxStandstills)) {
    is_given_up_ = true;
    return;
  }
  restart_at_ = restarts_.next(now);
  const std::string when =
      restart_at_ > now ? " takes over in " + in_seconds(restart_at_ - now) : " takes over";
  if (failure_.empty()) {
    say("the front end died (" + death_ + "); the job goes on, another front end" + when + blame_);
  } else if (failure_ != failure_said_) {
    say("no front end can take over for now: " + failure_ +
        "; the job goes on, its hosts keep data that is not stored for a minute");
  }
  failure_said_ = failure_;
}

std::optional<Nanos> FrontEndProcess::attend(Nanos now, const Say& say) {
  if (is_given_up_) return std::nullopt;
  if (is_there()) {
    hear();
    reap_if_dead(now);
    end_if_still(now, say);
  }
  // The front end may also have died in start(), right after it was ready.
  if (std::exchange(is_death_undecided_, false) && !is_done_ && !is_given_up_) decide(now, say);
  if (is_there() && is_ready_ && !failure_said_.empty()) {
    failure_said_.clear();
    say("a front end has taken over");
  }
  if (!is_there() && !is_done_ && !is_given_up_ && now >= restart_at_) {
    if (auto launched = launch(); !launched) {
      was_in_fold_ = false;
      failure_ = launched.error().message;
      decide(now, say);
    }
  }
  if (is_there() && !is_ready_) return kLookAtStart;
  if (is_there()) return last_line_ ? std::optional(kLookAtEnd) : std::nullopt;
  if (is_done_ || is_given_up_) return std::nullopt;
  return std::max(restart_at_ - now, kMillisecond);
}

// ---- the end ----

// The second interrupt ends the wait.
void FrontEndProcess::answer_interrupt(const Say& say) {
  if (++interrupts_ == 1) {
    say("the job has ended, its data is being stored; interrupt again to give it up");
  } else if (is_there()) {
    ::kill(pid_, SIGKILL);
  } else {
    is_given_up_ = true;
  }
}

Result<void> FrontEndProcess::finish(int exit_code, const Say& say) {
  return end("finish " + std::to_string(exit_code), say);
}

Result<void> FrontEndProcess::abandon(const Say& say) { return end("abandon", say); }

Result<void> FrontEndProcess::end(std::string last_line, const Say& say) {
  last_line_ = std::move(last_line);
  if (is_there()) standstill_.follow(pid_, monotonic_now());
  // From now on the hosts wait only for seconds, so long pauses are not possible.
  restarts_ = {};
  restart_at_ = 0;
  if (is_there() && is_ready_) tell_to_finish();
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  const UniqueFd signals(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  for (;;) {
    const std::optional<Nanos> again = attend(monotonic_now(), say);
    if (is_given_up_ || (is_done_ && !is_there())) break;
    // When the front end ends, its descriptors are closed slightly before waitpid() succeeds.
    constexpr Nanos kReapPause = 5 * kMillisecond;
    pollfd waiting[2] = {{signals.get(), POLLIN, 0}, {control_ ? control_.get() : -1, POLLIN, 0}};
    char c;
    const bool is_closed = control_ && ::recv(control_.get(), &c, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
    if (is_closed) waiting[1].fd = -1;
    const std::optional<Nanos> max_wait = is_closed ? std::optional(kReapPause) : again;
    const int timeout = max_wait ? static_cast<int>(*max_wait / kMillisecond) : -1;
    if (::poll(waiting, 2, timeout) <= 0 || waiting[0].revents == 0) continue;
    signalfd_siginfo which{};
    if (::read(signals.get(), &which, sizeof which) == sizeof which) answer_interrupt(say);
  }
  if (is_done_) return {};
  return unexpected(Code::kUnavailable, "the front end died before everything was stored (" +
                                            (failure_.empty() ? death_ : failure_) + ")");
}

std::string run_folder(const std::string& run) {
  char path[kRunFolderBytes];
  return write_run_folder(path, ::geteuid(), run.c_str());
}

std::string front_end_folder(const std::string& run) { return run_folder(run) + "-front-end"; }
std::string front_end_socket(const std::string& run) { return front_end_folder(run) + "/socket"; }

bool has_agent_folder(const std::string& run) {
  std::error_code error;
  const std::filesystem::path ours(front_end_folder(run));
  for (const auto& entry : std::filesystem::directory_iterator(ours.parent_path(), error)) {
    if (entry.path() != ours && is_run_folder_of_its_user(entry.path().string(), run)) return true;
  }
  return false;
}

}  // namespace xylem::launch
