#include "launch/job.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/argv.h"
#include "base/own_process.h"
#include "launch/spawn_error_internal.h"

namespace xylem::launch {
namespace {

// Signals that people and batch systems send to a job. SIGTSTP and similar signals keep their
// default action: the terminal stops both processes.
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM};

// If we were started with a signal ignored (nohup, `&` in a script), the job ignores the signal,
// too. Such a signal is not blocked here.
bool is_ignored(int signal) {
  struct sigaction present {};
  return ::sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
}

sigset_t gated_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) {
    if (!is_ignored(signal)) sigaddset(&set, signal);
  }
  sigaddset(&set, SIGCHLD);
  return set;
}

std::vector<std::string> merge(std::vector<std::string> current, const Environment& extra) {
  for (const auto& [name, value] : extra) {
    std::erase_if(current, [&name = name](const std::string& entry) {
      return entry.starts_with(name + "=");
    });
    current.push_back(name + "=" + value);
  }
  return current;
}

}  // namespace

SignalGate::SignalGate() {
  static_assert(sizeof(sigset_t) <= sizeof blocked_before_);
  const sigset_t gated = gated_signals();
  sigset_t before;
  CHECK(::sigprocmask(SIG_BLOCK, &gated, &before) == 0);
  std::memcpy(blocked_before_, &before, sizeof before);
  ignored_size_limit_before_ = survive_size_limit();
}

std::optional<int> SignalGate::ended_before_start() const {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (!is_ignored(signal)) sigaddset(&ending, signal);
  }
  const timespec now{0, 0};
  const int signal = ::sigtimedwait(&ending, nullptr, &now);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

Result<Job> Job::start(const std::vector<std::string>& command, const Environment& environment,
                       const SignalGate& gate) {
  if (command.empty()) return unexpected(Code::kInvalidArgument, "there is no command to start");
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = merge(current_environment(), environment);
  std::vector<char*> argv = argv_of(arguments);
  const std::vector<char*> envp = argv_of(variables);

  sigset_t mask;
  std::memcpy(&mask, gate.blocked_before_, sizeof mask);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  if (!gate.ignored_size_limit_before_) sigaddset(&defaults, SIGXFSZ);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigmask(&attributes, &mask);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  pid_t pid = -1;
  int error = ::posix_spawnp(&pid, argv[0], nullptr, &attributes, argv.data(), envp.data());
  if (error == ENOEXEC) {
    // A script without an interpreter line is run by sh, as shells do.
    std::string shell = "/bin/sh";
    argv.insert(argv.begin(), shell.data());
    error = ::posix_spawn(&pid, argv[0], nullptr, &attributes, argv.data(), envp.data());
  }
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return Job(pid);
  const std::string why = command.front() + ": cannot be started: " + std::strerror(error);
  return unexpected(code_of_spawn_error(error), why);
}

int Job::wait(GroupWitness& witness, const std::function<std::optional<Nanos>()>& attend) {
  const sigset_t gated = gated_signals();
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    const std::optional<Nanos> again = attend();
    siginfo_t how{};
    const timespec max_wait{again.value_or(0) / kSecond, again.value_or(0) % kSecond};
    const int signal =
        again ? ::sigtimedwait(&gated, &how, &max_wait) : ::sigwaitinfo(&gated, &how);
    if (signal <= 0 || signal == SIGCHLD) continue;
    // Signals of the terminal come from the kernel and go to the whole group.
    const bool job_has_it = witness.reached_group(signal).value_or(how.si_code > 0);
    if (!job_has_it) ::kill(pid_, signal);
  }
}

}  // namespace xylem::launch
