#pragma once

// The thread on which a program's event loop runs, beside the program's own work.

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace xylem::net {

/// One thread of the library in a program of somebody else. It gets none of the program's signals:
/// handlers run where the program expects them. start() and join() must not overlap.
///
/// Declare it as the last member of the class whose members it uses, and join it before that class
/// is destroyed.
class LoopThread {
 public:
  LoopThread() = default;
  ~LoopThread();  ///< Stops the program if the thread was started and not joined.
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  /// Runs `work` on the thread. `name` is for debuggers, at most 15 characters.
  void start(const std::string& name, std::function<void()> work);
  /// Waits until `work` has returned. Does nothing if the thread does not run.
  void join();

  bool is_running() const { return thread_.joinable(); }
  /// The caller runs on it. Any thread may ask.
  bool is_current() const { return id_.load() == std::this_thread::get_id(); }

 private:
  std::atomic<std::thread::id> id_{};
  std::thread thread_;
};

}  // namespace xylem::net
