#include "net/loop_thread.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

#include "base/check.h"

namespace xylem::net {

LoopThread::~LoopThread() { CHECK(!thread_.joinable()); }

Result<void> LoopThread::start(const std::string& name, std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::string refused;
  try {
    thread_ = std::thread([this, work = std::move(work)] {
      id_ = std::this_thread::get_id();
      work();
    });
  } catch (const std::system_error& error) {
    refused = error.what();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!thread_.joinable()) {
    return unexpected(Code::kExhausted, "cannot start the thread " + name + ": " + refused);
  }
  ::pthread_setname_np(thread_.native_handle(), name.c_str());
  return {};
}

void LoopThread::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace xylem::net
