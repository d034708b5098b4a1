// A leaf's program that calls exit() in the midst of a call of the leaf:
//
//   leaf_exit WHERE WHO
//
// WHERE: joining, destroying (with more to deliver than the stream "stuck" takes), or serving
// (under Threading::kCaller). WHO: handler (of a signal that interrupts the call), or thread
// (another one). Ends with code 7, or 9 where the leaf's thread lives still when static objects are
// destroyed.

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "backend/leaf.h"

namespace {

using xylem::kSecond;
using xylem::backend::Leaf;

constexpr xylem::Nanos kPatience = 60 * kSecond;
constexpr suseconds_t kUntilExit = 200'000;
constexpr int kExited = 7;

bool leaf_thread_lives() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "xylem-leaf") return true;
  }
  return false;
}

struct Static {
  // One that has done all its work may be about to end.
  ~Static() {
    const xylem::Nanos deadline = xylem::monotonic_now() + kSecond;
    while (leaf_thread_lives()) {
      if (xylem::monotonic_now() > deadline) ::_exit(9);
      std::this_thread::yield();
    }
  }
};

template <typename T>
T must(xylem::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "leaf_exit: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void exit_soon() {
  const itimerval soon{{0, 0}, {0, kUntilExit}};
  ::setitimer(ITIMER_REAL, &soon, nullptr);
}

// Before the leaf's thread is there. That one keeps all signals out.
void let_exit(const std::string& who) {
  if (who == "handler") {
    ::signal(SIGALRM, [](int) { std::exit(kExited); });
    return;
  }
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  ::pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
  std::thread([alarm] {
    int which = 0;
    ::sigwait(&alarm, &which);
    std::exit(kExited);
  }).detach();
}

// A call may end by exit() before that has ended the process.
void wait_for_exit(const std::string& who) {
  while (who == "thread") ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string where = argv[1], who = argv[2];
  static const Static kLast;
  let_exit(who);
  xylem::backend::LeafOptions options;
  if (where == "serving") options.threading = xylem::backend::Threading::kCaller;
  if (where == "joining") exit_soon();
  auto joined = Leaf::join(options);
  if (where == "joining") wait_for_exit(who);
  auto leaf = must(std::move(joined));
  if (where == "serving") {
    exit_soon();
    leaf->serve(kPatience);
  }
  if (where == "destroying") {
    auto stuck = must(leaf->stream("stuck", kPatience));
    for (int i = 0; i < 100; ++i) must(stuck.send({{1, std::string(8000, 'x')}}));
    exit_soon();
    leaf.reset();
    wait_for_exit(who);
  }
  return 3;  // It did not take long enough.
}
