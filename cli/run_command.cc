#include "cli/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/argv.h"
#include "base/pipe.h"
#include "base/printable_text.h"
#include "base/quoted.h"
#include "base/run_contract.h"
#include "cli/front_end_start.h"
#include "launch/job.h"
#include "launch/launch.h"
#include "launch/shell_environment.h"

namespace xylem {
namespace {

constexpr int kUsageError = 2;
constexpr const char* kServePid = "XYLEM_SERVE_PID";

int fail(const std::string& sentence) {
  std::fprintf(stderr, "xylem: %s\n", printable(sentence).c_str());
  return kUsageError;
}

}  // namespace

int run_job(const RunOptions& options, const std::vector<std::string>& command) {
  if (command.empty())
    return fail("nothing to run; write for example: xylem run -- mpirun -n 4 ./app");
  const launch::SignalGate gate;
  launch::GroupWitness witness;
  auto started = start_front_end(options, command, Reach::kJob);
  if (!started) return fail(started.error().message);
  if (const auto signal = gate.ended_before_start()) {
    abandon(*started);
    return 128 + *signal;
  }
  auto job = launch::Job::start(command, started->environment, gate);
  if (!job) {
    const int code = job.error().code == Code::kPermissionDenied ? 126 : 127;
    abandon(*started);
    fail(job.error().message);
    return code;
  }
  if (!options.quiet) {
    std::fprintf(stderr, "xylem: to see it live: xylem view %s\n", store_of(options).c_str());
  }
  const int code = job->wait(witness, [&started] { return attend(*started); });
  finish(*started, code);
  return code;
}

// ---- serve ----

namespace {

Result<void> write_env_file(const std::string& path, const launch::Environment& environment) {
  // Written under another name first: nobody reads half of it, and the mode is right from the
  // start.
  const std::string temporary = path + ".new";
  const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  std::string text;
  for (const auto& [name, value] : environment) text += name + "=" + value + "\n";
  const bool written =
      fd && ::fchmod(fd.get(), 0600) == 0 &&
      ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::rename(temporary.c_str(), path.c_str()) == 0;
  if (written) return {};
  const std::string why = std::strerror(errno);
  ::unlink(temporary.c_str());
  return unexpected(Code::kPermissionDenied, path + ": cannot be written: " + why);
}

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

// What was exported must not outlive what serves: each later job would start agents for nothing.
void leave_environment() {
  const auto installation = launch::find_installation();
  const std::string lines = launch::lines_to_leave(
      launch::current_environment(), installation ? installation->capture_library : "");
  std::fputs(lines.c_str(), stdout);
  std::fflush(stdout);
}

int stop_serving() {
  const char* text = std::getenv(kServePid);
  const int pid = text != nullptr ? std::atoi(text) : 0;
  const UniqueFd pidfd(pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1);
  std::error_code error;
  const std::filesystem::path process = "/proc/" + std::to_string(pid);
  // A number may have become somebody else's.
  const bool is_ours = pidfd && std::filesystem::read_symlink(process / "exe", error) ==
                                    std::filesystem::read_symlink("/proc/self/exe", error);
  leave_environment();
  if (!is_ours || ::kill(pid, SIGTERM) != 0) {
    return fail("no front end serves this environment; `eval \"$(xylem serve)\"` starts one");
  }
  pollfd watched{pidfd.get(), POLLIN, 0};
  if (::poll(&watched, 1, 60'000) > 0) return 0;
  return fail("a minute has passed and the front end is still storing data; it goes on");
}

// Whoever reads our standard error through a pipe waits for its end, which must not be that of the
// run. What there is to say afterwards stands in the store.
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
  std::_Exit(fail(sentence));
}

// The process that stays. What its caller is to evaluate goes into `text`.
[[noreturn]] void serve_until(int until, const RunOptions& options, const std::string& env_file,
                              UniqueFd text) {
  ::setsid();
  UniqueFd spoken = set_piped_stderr_aside();
  auto started = start_front_end(options, {"xylem", "serve"}, Reach::kJob);
  if (!started) fail_to_serve(spoken, started.error().message);
  if (!env_file.empty()) {
    if (auto written = write_env_file(env_file, started->environment); !written) {
      abandon(*started);
      fail_to_serve(spoken, written.error().message);
    }
  }
  const std::string lines =
      launch::lines_to_enter(started->environment, ::getpid(), launch::current_environment());
  if (::write(text.get(), lines.data(), lines.size()) < 0) std::_Exit(kUsageError);
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
  // The parent prints and leaves; the child serves on. What it has to say before goes through the
  // pipe, so that a failure is the parent's exit code.
  auto pipe = make_pipe();
  if (!pipe) return fail(pipe.error().message);
  UniqueFd reading = std::move(pipe->read);
  UniqueFd writing = std::move(pipe->write);
  const pid_t child = ::fork();
  if (child < 0) return fail(std::string("cannot fork: ") + std::strerror(errno));
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
  return text.empty() ? kUsageError : 0;
}

// ---- exec ----

int exec_rank(const std::string& env_file, const std::vector<std::string>& command) {
  if (command.empty()) return fail("nothing to start; write for example: xylem exec -- ./app");
  launch::Environment environment;
  if (!env_file.empty()) {
    struct stat facts {};
    std::ifstream file(env_file);
    if (!file || ::stat(env_file.c_str(), &facts) != 0) {
      return fail(env_file + ": cannot be read; `xylem serve --env-file` writes it");
    }
    if (facts.st_uid != ::getuid() || (facts.st_mode & 077) != 0) {
      return fail(env_file + ": must be yours with mode 0600, since it holds the run's key");
    }
    for (std::string line; std::getline(file, line);) {
      const auto equals = line.find('=');
      if (equals != std::string::npos) {
        environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
      }
    }
  } else if (std::getenv(kEnvAddress) == nullptr) {
    return fail(
        "no run to report to: give --env-file, or start under `xylem run` or `xylem serve`");
  } else {
    auto installation = launch::find_installation();
    if (!installation) return fail(installation.error().message);
    const auto usable = launch::check_preload(installation->capture_library);
    if (!usable) return fail(usable.error().message);
    const char* preload = std::getenv("LD_PRELOAD");
    const bool there =
        preload != nullptr &&
        std::string_view(preload).find(installation->capture_library) != std::string::npos;
    if (!there) {
      const std::string others = preload != nullptr ? std::string(":") + preload : "";
      environment.emplace_back("LD_PRELOAD", installation->capture_library + others);
    }
  }
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<std::string> arguments = command;
  const std::vector<char*> argv = argv_of(arguments);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  fail(command.front() + ": cannot be started: " + std::strerror(error));
  return error == EACCES ? 126 : 127;
}

}  // namespace xylem
