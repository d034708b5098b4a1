#include "frontend/front_end_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/argv.h"

namespace xylem::frontend {
namespace {

constexpr int kChildControlFd = 3;
constexpr int kFirstSpareFd = 64;  // Above every number that the child's descriptors get.

// A copy that cannot collide with the numbers that the child's descriptors get.
UniqueFd lift(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstSpareFd)); }

Result<std::string> read_line(int fd) {
  std::string line;
  for (;;) {
    char c;
    const ssize_t size = ::read(fd, &c, 1);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return unexpected(Code::kUnavailable, "the front end ended unexpectedly");
    if (c == '\n') return line;
    line += c;
  }
}

Result<void> write_line(int fd, const std::string& line) {
  const std::string text = line + "\n";
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t size = ::send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return unexpected(Code::kUnavailable, "the front end ended unexpectedly");
    at += static_cast<std::size_t>(size);
  }
  return {};
}

Result<pid_t> spawn(const std::string& program, int control,
                    const std::vector<UniqueFd>& listening) {
  std::vector<std::string> arguments = {program, std::to_string(kChildControlFd)};
  std::vector<UniqueFd> lifted;
  lifted.push_back(lift(control));
  for (const UniqueFd& socket : listening) lifted.push_back(lift(socket.get()));

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  for (std::size_t i = 0; i < lifted.size(); ++i) {
    const int target = kChildControlFd + static_cast<int>(i);
    ::posix_spawn_file_actions_adddup2(&actions, lifted[i].get(), target);
    if (i > 0) arguments.push_back(std::to_string(target));
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
    return unexpected(Code::kNotFound, program + ": cannot be started: " + std::strerror(error));
  }
  return pid;
}

}  // namespace

Result<FrontEndProcess> FrontEndProcess::start(const std::string& program, const Setup& setup,
                                               const std::vector<UniqueFd>& listening) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return unexpected(Code::kInternal, std::string("no socket pair: ") + std::strerror(errno));
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  auto pid = spawn(program, theirs.get(), listening);
  if (!pid) return unexpected(std::move(pid.error()));
  theirs.reset();
  FrontEndProcess process(*pid, std::move(ours));
  auto written = write_line(process.control_.get(), to_json(setup));
  auto answer = written ? read_line(process.control_.get())
                        : Result<std::string>(unexpected(written.error()));
  if (answer && *answer == "ready") return process;
  process.control_.reset();
  ::waitpid(*pid, nullptr, 0);
  if (!answer) return unexpected(std::move(answer.error()));
  constexpr std::string_view kError = "error ";
  return unexpected(Code::kInvalidArgument,
                    answer->starts_with(kError) ? answer->substr(kError.size()) : *answer);
}

// Waits until the front end has something to say. Whoever interrupts twice is not kept waiting.
void FrontEndProcess::wait_for_answer() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  const UniqueFd signals(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  for (int interrupts = 0;;) {
    pollfd waiting[2] = {{control_.get(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    if (waiting[0].revents != 0) return;
    signalfd_siginfo which{};
    if (::read(signals.get(), &which, sizeof which) != sizeof which) continue;
    if (++interrupts == 1) {
      std::fputs("xylem: the job has ended, its data is being stored; once more to give it up\n",
                 stderr);
    } else {
      ::kill(pid_, SIGKILL);
    }
  }
}

std::string FrontEndProcess::news_of_its_death() {
  siginfo_t how{};
  const bool dead =
      ::waitid(P_PID, static_cast<id_t>(pid_), &how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      how.si_pid == pid_;
  if (!dead || death_told_) return "";
  death_told_ = true;
  return "the front end died; the job goes on, what it does from now on is not stored";
}

Result<void> FrontEndProcess::finish(int exit_code) {
  auto said = write_line(control_.get(), "finish " + std::to_string(exit_code));
  if (said) wait_for_answer();
  auto answer = said ? read_line(control_.get()) : Result<std::string>(unexpected(said.error()));
  control_.reset();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  if (answer) return {};
  return unexpected(Code::kUnavailable,
                    "the front end died before everything was stored" +
                        (WIFSIGNALED(status) ? " (signal " + std::to_string(WTERMSIG(status)) + ")"
                                             : std::string()));
}

std::string run_folder(const std::string& run) {
  return "/dev/shm/xylem-" + std::to_string(::getuid()) + "-" + run;
}

std::string front_end_folder(const std::string& run) { return run_folder(run) + "-front-end"; }
std::string front_end_socket(const std::string& run) { return front_end_folder(run) + "/socket"; }

}  // namespace xylem::frontend
