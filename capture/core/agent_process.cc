#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>
#include <new>

#include "base/run_contract.h"
#include "capture/core/agent_process_internal.h"
#include "capture/core/process_internal.h"
#include "capture/core/system_internal.h"

namespace xylem::capture {
namespace {

constexpr std::size_t kStackBytes = 128u << 10;
constexpr std::size_t kMaxVariables = 64;
constexpr int kFreeDescriptor = 10;  // Above the descriptors that the agent expects.
constexpr long kPauseNs = 1'000'000;
constexpr unsigned kMaxProcessors = 8192;

constexpr const char* kPassedOn[] = {
    "PATH=",          "HOME=",      "TMPDIR=",   "USER=",     "LANG=",
    "XYLEM_ADDRESS=", "XYLEM_RUN=", "XYLEM_LOG", "XYLEM_TLS="};

// Input and result of the two child processes. They run in the application's memory, on stacks
// behind this structure. The application waits for them only until the deadline, unlike with vfork:
// the agent's program may be on a file system that hangs. After the deadline this memory stays
// mapped, since a child may wake up later.
struct Start {
  const char* program;
  char* arguments[2];
  char* environment[kMaxVariables + 3];
  Text<PATH_MAX> folder;
  Text<PATH_MAX> host;
  int listener;
  int key;
  std::uint64_t deadline;
  long max_descriptors;
  char* agent_stack;   // Its upper end.
  volatile int error;  // An errno, -1 for an agent that failed, or 0.
};

// Makes the system call directly, since the application may replace clone(): thread sanitizers
// treat it as a fork. Any other function that a child calls by name may be replaced too, so the
// children only make system calls.
long start_child(int (*run)(void*), void* argument, const char* stack, unsigned long flags) {
#if defined(__x86_64__)
  auto** top = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(stack) & ~15ul);
  *--top = argument;
  *--top = reinterpret_cast<void*>(run);
  long result = 0;
  __asm__ volatile(
      "xorl %%r8d, %%r8d\n\t"
      "xorl %%r10d, %%r10d\n\t"
      "xorl %%edx, %%edx\n\t"
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"  // The child, on its own stack.
      "popq %%rax\n\t"
      "popq %%rdi\n\t"
      "call *%%rax\n\t"
      "hlt\n"
      "1:"
      : "=a"(result)
      : "0"(static_cast<long>(SYS_clone)), "D"(flags), "S"(top)
      : "rcx", "r11", "rdx", "r8", "r10", "memory", "cc");
  return result;
#else
  const int child = clone(run, stack, static_cast<int>(flags), argument);
  return child < 0 ? -errno : child;
#endif
}

long word(long value) { return value; }
long word(const volatile void* value) { return reinterpret_cast<long>(value); }

// Makes a system call without changing errno, which belongs to the application. Returns the
// negative error number if the call fails.
template <class... Arguments>
long kernel(long number, Arguments... arguments) {
  const long words[5] = {word(arguments)...};
#if defined(__x86_64__)
  long result = number;
  register long fourth __asm__("r10") = words[3];
  register long fifth __asm__("r8") = words[4];
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(words[0]), "S"(words[1]), "d"(words[2]), "r"(fourth), "r"(fifth)
                   : "rcx", "r11", "memory");
  return result;
#else
  const long result = syscall(number, words[0], words[1], words[2], words[3], words[4]);
  return result < 0 ? -errno : result;
#endif
}

[[noreturn]] void end_child(int code) {
  for (;;) kernel(SYS_exit_group, code);
}

// Runs in the second child, which becomes the agent.
int become_agent(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  const std::uint64_t none = 0;
  kernel(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);

  const auto fail = [&start](long result) {
    start.error = static_cast<int>(-result);
    end_child(127);
  };
  const long listener = kernel(SYS_fcntl, start.listener, F_DUPFD, kFreeDescriptor);
  const long key = kernel(SYS_fcntl, start.key, F_DUPFD, kFreeDescriptor);
  const long nowhere = kernel(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
  const long clear = kernel(SYS_fcntl, nowhere, F_DUPFD, kFreeDescriptor);
  for (const long fd : {listener, key, clear}) {
    if (fd < 0) fail(fd);
  }
  for (const int stream : {0, 1, 2}) kernel(SYS_dup3, clear, stream, 0);
  kernel(SYS_dup3, listener, kBackendListenFd, 0);
  kernel(SYS_dup3, key, kBackendKeyFd, 0);
  const unsigned first = kBackendKeyFd + 1;
  if (kernel(SYS_close_range, first, ~0u, 0) != 0) {
    for (long fd = first; fd < start.max_descriptors; ++fd) kernel(SYS_close, fd);
  }

  unsigned char processors[kMaxProcessors / 8];
  // The kernel ignores processors that the job may not use.
  for (unsigned char& byte : processors) byte = 0xff;
  kernel(SYS_sched_setaffinity, 0, sizeof processors, processors);
  kernel(SYS_umask, 077);
  kernel(SYS_chdir, "/");  // Otherwise its directory would keep a file system busy.
  fail(kernel(SYS_execve, start.program, start.arguments, start.environment));
  return 0;
}

// The kernel's layout of a signal's disposition.
struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

// Runs in the first child, which starts the second and waits for it until the deadline. The first
// child must not call execve: after execve, its exit signal to the application would be SIGCHLD,
// whatever clone() was told.
int start_and_wait(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  const KernelAction by_default{SIG_DFL, 0, nullptr, 0};
  for (int number = 1; number < NSIG; ++number)  // Signals are still blocked here.
    kernel(SYS_rt_sigaction, number, &by_default, nullptr, sizeof by_default.mask);
  const long child = start_child(&become_agent, argument, start.agent_stack, CLONE_VM | SIGCHLD);
  if (child < 0) start.error = static_cast<int>(-child);
  int status = 0;
  while (child > 0) {
    const long ended = kernel(SYS_wait4, child, &status, WNOHANG, nullptr);
    if (ended == child) {
      const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      if (!well && start.error == 0) start.error = -1;
      break;
    }
    if (monotonic_ns() >= start.deadline) {
      start.error = ETIMEDOUT;
      break;
    }
    const timespec pause{0, kPauseNs};
    kernel(SYS_nanosleep, &pause, nullptr);
  }
  end_child(0);
}

bool is_passed_on(const char* variable) {
  for (const char* prefix : kPassedOn) {
    if (strncmp(variable, prefix, strlen(prefix)) == 0) return true;
  }
  return false;
}

// Returns the reading end of a pipe that holds the key. Its writing end is closed. Returns -1 and
// sets errno on failure.
int key_pipe(const char* key) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  const auto length = static_cast<ssize_t>(strlen(key));
  const bool written = write(ends[1], key, static_cast<std::size_t>(length)) == length;
  close(ends[1]);
  if (written) return ends[0];
  close(ends[0]);
  errno = EIO;
  return -1;
}

// Prevents this process from adopting orphans. A daemon becomes the child of the nearest ancestor
// that adopts orphans, and a program that waits for all its children would wait for the agent.
class NoAdoption {
 public:
  NoAdoption() {
    prctl(PR_GET_CHILD_SUBREAPER, &adopts_, 0, 0, 0);
    if (adopts_ != 0) prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  }
  ~NoAdoption() {
    if (adopts_ != 0) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  }
  NoAdoption(const NoAdoption&) = delete;
  NoAdoption& operator=(const NoAdoption&) = delete;

 private:
  int adopts_ = 0;
};

// Runs the first child and waits for its end. Returns false if it does not end soon after the
// deadline.
bool run_starter(Start& start, char* stack) {
  constexpr std::uint64_t kGraceNs = 100'000'000;
  const NoAdoption no_adoption;
  const SignalsBlocked blocked;  // No handler of the application may run in its children.
  const auto child = static_cast<pid_t>(start_child(&start_and_wait, &start, stack, CLONE_VM));
  if (child < 0) {
    start.error = -child;
    return true;
  }
  while (waitpid(child, nullptr, __WCLONE | WNOHANG) == 0) {
    if (monotonic_ns() >= start.deadline + kGraceNs) return false;
    const timespec pause{0, kPauseNs};
    nanosleep(&pause, nullptr);
  }
  return true;
}

}  // namespace

const char* AgentProcess::program() const noexcept {
  const char* path = getenv(kEnvBackend);
  return path == nullptr ? "xylem-backend (XYLEM_BACKEND is not set)" : path;
}

int start_agent(const AgentProcess& agent, std::uint64_t deadline) noexcept {
  constexpr std::size_t kStartBytes = round_to_page(sizeof(Start));
  constexpr std::size_t kBytes = kStartBytes + 2 * kStackBytes;
  void* memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return ENOMEM;
  Start& start = *new (memory) Start{};  // At the start of the mapped stacks.
  char* const stack = static_cast<char*>(memory) + kStartBytes + kStackBytes;
  start.agent_stack = stack + kStackBytes;
  start.folder.add("XYLEM_FOLDER=").add(agent.folder);
  start.host.add("XYLEM_HOST=").add(agent.host.c_str());
  start.program = agent.program();
  start.arguments[0] = const_cast<char*>(start.program);
  std::size_t count = 0;
  for (char** at = environ; *at != nullptr && count < kMaxVariables; ++at) {
    if (is_passed_on(*at)) start.environment[count++] = *at;
  }
  start.environment[count++] = start.folder.begin();
  start.environment[count++] = start.host.begin();
  start.listener = agent.listener;
  start.deadline = deadline;
  start.max_descriptors = sysconf(_SC_OPEN_MAX);
  start.key = key_pipe(agent.key);
  if (start.key < 0) {
    const int error = errno;
    munmap(memory, kBytes);
    return error;
  }
  const bool has_ended = run_starter(start, stack);
  close(start.key);
  if (!has_ended) return ETIMEDOUT;
  const int error = start.error;
  munmap(memory, kBytes);
  return error;
}

}  // namespace xylem::capture
