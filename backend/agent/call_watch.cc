#include "backend/agent/call_watch.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <tuple>
#include <utility>

#include "capture/core/ring.h"

namespace xylem::backend {
namespace {

// Stack of the waiting thread, which only makes a few system calls.
constexpr std::size_t kStackBytes = 256u << 10;

long wait_for_any(const futex_waitv* words, std::size_t count) {
  return ::syscall(SYS_futex_waitv, words, count, 0, nullptr, 0);
}

// If the kernel has this system call, it fails with EINVAL without words to wait for. If system
// calls are filtered, do not try it: a filter may kill a process that makes an unknown system call.
bool can_wait() {
  const bool is_filtered = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
  return !is_filtered && wait_for_any(nullptr, 0) < 0 && errno == EINVAL;
}

futex_waitv wait_while(const CaptureSwitch& word, std::uint32_t value) {
  futex_waitv wait{};
  wait.val = value;
  wait.uaddr = reinterpret_cast<std::uintptr_t>(&word);
  wait.flags = FUTEX_32;  // Not private: the agent and the process share the switch.
  return wait;
}

}  // namespace

// The thread reads these values. Only `is_ended` changes while it runs.
struct FutexWatch::Waiter {
  Waiter(int fd, const std::vector<const CaptureSwitch*>& watched)
      : readable(fd), switches(watched) {}

  bool start();
  void end();
  void wait() const;

  const int readable;
  const std::vector<const CaptureSwitch*> switches;
  std::atomic<std::uint32_t> is_ended{0};
  pthread_t thread{};
};

bool FutexWatch::Waiter::start() {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto run = [](void* self) -> void* {
    static_cast<const Waiter*>(self)->wait();
    return nullptr;
  };
  const bool is_running = ::pthread_create(&thread, &attributes, run, this) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return is_running;
}

void FutexWatch::Waiter::end() {
  is_ended.store(1);
  ::syscall(SYS_futex, &is_ended, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  ::pthread_join(thread, nullptr);
}

// In the thread.
void FutexWatch::Waiter::wait() const {
  std::array<futex_waitv, kMaxSwitches + 1> words{};
  std::size_t count = 0;
  words[count++] = wait_while(is_ended, 0);
  for (const CaptureSwitch* one : switches)
    words[count++] = wait_while(*one, capture::kOnAgentSleeps);
  while (wait_for_any(words.data(), count) < 0 && errno == EINTR) {
  }
  const std::uint64_t one = 1;
  std::ignore = ::write(readable, &one, sizeof one);
}

FutexWatch::FutexWatch() {
  if (can_wait()) readable_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

FutexWatch::~FutexWatch() { end(); }

bool FutexWatch::begin(const std::vector<const CaptureSwitch*>& switches) {
  end();
  if (!readable_ || switches.size() > kMaxSwitches) return false;
  auto waiter = std::make_unique<Waiter>(readable_.get(), switches);
  if (!waiter->start()) return false;
  waiter_ = std::move(waiter);
  return true;
}

void FutexWatch::end() {
  if (!waiter_) return;
  waiter_->end();
  waiter_.reset();
  std::uint64_t count = 0;
  std::ignore = ::read(readable_.get(), &count, sizeof count);
}

}  // namespace xylem::backend
