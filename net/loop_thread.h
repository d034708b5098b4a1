#pragma once

// The library's own thread for its event loop, in a user's program.

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "base/result.h"

namespace xylem::net {

/// A thread that blocks all signals. So signal handlers run on the program's own threads. start()
/// and join() must not run at the same time.
///
/// If `work` uses members of an object, declare the LoopThread as the last member. Call join()
/// before the object is destroyed.
class LoopThread {
 public:
  LoopThread() = default;
  ~LoopThread();  ///< Stops the program if the thread was started but not joined.
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  /// Starts the thread, which runs `work`. `name` is for debuggers and has at most 15 characters.
  /// Fails with kExhausted if the system refuses the thread.
  Result<void> start(const std::string& name, std::function<void()> work);
  /// Waits until `work` has returned. Does nothing if the thread does not run.
  void join();

  bool is_running() const { return thread_.joinable(); }
  /// True if the caller runs on this thread. Any thread may call it.
  bool is_current() const { return id_.load() == std::this_thread::get_id(); }

 private:
  std::atomic<std::thread::id> id_{};
  std::thread thread_;
};

}  // namespace xylem::net
