#include "net/loop_thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "base/check.h"

namespace xylem::net {

LoopThread::~LoopThread() { CHECK(!thread_.joinable()); }

void LoopThread::start(const std::string& name, std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, work = std::move(work)] {
    id_ = std::this_thread::get_id();
    work();
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread_.native_handle(), name.c_str());
}

void LoopThread::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace xylem::net
