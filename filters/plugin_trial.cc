#include <dlfcn.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/pipe.h"
#include "base/unique_fd.h"
#include "filters/plugin.h"
#include "filters/plugin_trial_internal.h"

namespace xylem::filters {
namespace {

// The child's message before it ends. A child that crashes sends no message.
constexpr char kLoads = 'l';
constexpr char kThrows = 't';

[[noreturn]] void load_in_child(const char* name, int answer, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // The program's own signal handlers must not run in the child. Blocked signals are unblocked,
  // because a blocked signal would not end the child.
  sigset_t fatal_ones;
  ::sigemptyset(&fatal_ones);
  for (const int fatal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS}) {
    ::signal(fatal, SIG_DFL);
    ::sigaddset(&fatal_ones, fatal);
  }
  ::sigprocmask(SIG_UNBLOCK, &fatal_ones, nullptr);
  char said = kLoads;
  try {
    if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      const auto entry =
          reinterpret_cast<xylem_plugin_function>(::dlsym(handle, XYLEM_PLUGIN_SYMBOL));
      if (entry != nullptr) entry();
    }
  } catch (...) {
    said = kThrows;
  }
  [[maybe_unused]] const ssize_t told = ::write(answer, &said, 1);
  ::_exit(0);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return std::string(": ") + ::strsignal(WTERMSIG(status));
  return "";
}

}  // namespace

std::mutex& linker_mutex() {
  static std::mutex mutex;
  return mutex;
}

Result<void> try_loading(const std::string& name, Nanos limit) {
  const auto no_child = [] {
    return unexpected(Code::kExhausted, std::string("it cannot be tried: ") + std::strerror(errno));
  };
  UniqueFd read_end;
  pid_t child = -1;
  {
    // Another child must not inherit this end of the pipe, because it would keep the pipe open.
    const std::lock_guard lock(linker_mutex());
    auto pipe = make_pipe();
    if (!pipe) return no_child();
    read_end = std::move(pipe->read);
    const UniqueFd write_end = std::move(pipe->write);
    const pid_t self = ::getpid();
    child = ::fork();
    if (child < 0) return no_child();
    if (child == 0) load_in_child(name.c_str(), write_end.get(), self);
  }

  const Nanos deadline = monotonic_now() + limit;
  pollfd answer{read_end.get(), POLLIN, 0};
  int ready = -1;
  while (ready < 0) {
    const Nanos left = std::max<Nanos>(0, deadline - monotonic_now());
    ready = ::poll(&answer, 1, static_cast<int>(left / kMillisecond));
    if (ready < 0 && errno != EINTR) break;
  }
  char said = 0;
  const bool has_said = ready > 0 && ::read(read_end.get(), &said, 1) == 1;
  if (ready <= 0) ::kill(child, SIGKILL);
  int status = 0;
  // The program itself may wait for all children. Then we do not learn how this child ended.
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) break;
  }
  if (has_said && said == kLoads) return {};
  if (has_said) return unexpected(Code::kCorrupt, "it throws an exception when it is loaded");
  if (ready <= 0) return unexpected(Code::kCorrupt, "it does not return when it is loaded");
  return unexpected(Code::kCorrupt, "it crashes when it is loaded" + how_it_ended(status));
}

}  // namespace xylem::filters
