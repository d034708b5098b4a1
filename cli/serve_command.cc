#include "cli/serve_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/pipe.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/front_end_start.h"
#include "cli/run_flags.h"
#include "launch/environment_file.h"
#include "launch/job.h"
#include "launch/launch.h"
#include "launch/shell_environment.h"

namespace xylem {
namespace {

// Waits for SIGTERM, SIGINT or SIGHUP, or for the end of `pid`; meanwhile looks after the front
// end.
void wait_for_end(int pid, Started& started) {
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  const UniqueFd owner(pidfd);
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ending, signal);
  for (;;) {
    const timespec patience{0, 200'000'000};
    if (::sigtimedwait(&ending, nullptr, &patience) > 0) return;
    pollfd watched{pidfd, POLLIN, 0};
    if (pidfd < 0 || ::poll(&watched, 1, 0) > 0) return;
    attend(started);
  }
}

// The exported variables must not stay after the front end has ended: later jobs would start agents
// that have no front end.
void leave_environment() {
  const auto installation = launch::find_installation();
  const std::string lines = launch::lines_to_leave(
      launch::current_environment(), installation ? installation->capture_library : "");
  std::fputs(lines.c_str(), stdout);
  std::fflush(stdout);
}

int stop_serving() {
  const char* text = std::getenv(launch::kEnvServePid);
  const int pid = text != nullptr ? std::atoi(text) : 0;
  const UniqueFd pidfd(pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1);
  std::error_code error;
  const std::filesystem::path process = "/proc/" + std::to_string(pid);
  // Another process may have this number now.
  const bool is_ours = pidfd && std::filesystem::read_symlink(process / "exe", error) ==
                                    std::filesystem::read_symlink("/proc/self/exe", error);
  leave_environment();
  if (!is_ours || ::kill(pid, SIGTERM) != 0) {
    return fail_usage("no front end serves this environment; `eval \"$(xylem serve)\"` starts one");
  }
  pollfd watched{pidfd.get(), POLLIN, 0};
  if (::poll(&watched, 1, 60'000) > 0) return 0;
  return fail_usage(
      "the front end is still storing data after a minute; it continues, and ends when all is "
      "stored");
}

// A reader of our standard error through a pipe waits for its end, but must not wait for the end of
// the run. So later messages are only in the store.
UniqueFd set_piped_stderr_aside() {
  struct stat found {};
  const bool is_waited_for =
      ::fstat(STDERR_FILENO, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode));
  if (!is_waited_for) return UniqueFd();
  UniqueFd aside(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ::dup2(null.get(), STDERR_FILENO);
  return aside;
}

[[noreturn]] void fail_to_serve(const UniqueFd& spoken, const std::string& sentence) {
  if (spoken) ::dup2(spoken.get(), STDERR_FILENO);
  std::_Exit(fail_usage(sentence));
}

// Runs in the process that stays. Writes the shell commands for the caller into `text`.
[[noreturn]] void serve_until(int until, const RunOptions& options, const std::string& env_file,
                              UniqueFd text) {
  ::setsid();
  UniqueFd spoken = set_piped_stderr_aside();
  auto started = start_front_end(options, {"xylem", "serve"}, Reach::kJob);
  if (!started) fail_to_serve(spoken, started.error().message);
  if (!env_file.empty()) {
    if (auto written = launch::write_environment_file(env_file, started->environment); !written) {
      abandon(*started);
      fail_to_serve(spoken, written.error().message);
    }
  }
  const std::string lines =
      launch::lines_to_enter(started->environment, ::getpid(), launch::current_environment());
  if (::write(text.get(), lines.data(), lines.size()) < 0) std::_Exit(kExitUsage);
  text.reset();
  spoken.reset();
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  wait_for_end(until, *started);
  finish(*started, 0);
  if (!env_file.empty()) ::unlink(env_file.c_str());
  std::_Exit(0);
}

}  // namespace

int serve(const RunOptions& options, const ServeOptions& how) {
  if (how.stop) return stop_serving();
  const int until = how.until_pid != 0 ? how.until_pid : ::getppid();
  const launch::SignalGate gate;
  // The parent prints the commands and exits. The child continues to serve. It sends the commands
  // through the pipe. If it fails, it sends nothing, and the parent returns kExitUsage.
  auto pipe = make_pipe();
  if (!pipe) return fail_usage(pipe.error().message);
  UniqueFd reading = std::move(pipe->read);
  UniqueFd writing = std::move(pipe->write);
  const pid_t child = ::fork();
  if (child < 0) return fail_usage(std::string("cannot fork: ") + std::strerror(errno));
  if (child == 0) {
    reading.reset();
    serve_until(until, options, how.env_file, std::move(writing));
  }
  writing.reset();
  std::string text;
  char piece[4096];
  for (ssize_t size; (size = ::read(reading.get(), piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(size));
  }
  std::fputs(text.c_str(), stdout);
  return text.empty() ? kExitUsage : 0;
}

void add_serve_command(CLI::App& app, int& code) {
  CLI::App* verb = app.add_subcommand(
      "serve", "Serve any launcher: eval \"$(xylem serve)\", then mpirun as always");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto flags = std::make_shared<RunFlags>(*verb);
  const auto how = std::make_shared<ServeOptions>();
  verb->add_option("--until-pid", how->until_pid, "End when this process ends [the calling shell]")
      ->type_name("PID");
  verb->add_option("--env-file", how->env_file,
                   "Also write the environment to this file, for xylem exec")
      ->type_name("FILE");
  verb->add_flag("--stop", how->stop,
                 "End the front end of this environment: eval \"$(xylem serve --stop)\"");
  verb->callback([flags, how, &code] {
    code = flags->act([&](const RunOptions& options) { return serve(options, *how); });
  });
}

}  // namespace xylem
