#pragma once

// Wakes a sleeping agent when a process makes its first MPI call.
//
// While nothing happens, an agent looks at its rings only once a second. A ring can fill in 13 ms,
// so the next call must wake the agent. The agent sets the switch of each process to
// kOnAgentSleeps (capture/core/ring.h). The first call of the process sets it back to kOn and wakes
// all that wait for the switch. That is one system call for each sleep, and none for each call.
//
//   agent:    switch = kOnAgentSleeps, then waits for a change of the switch
//   process:  switch = kOn, FUTEX_WAKE, then goes on with its call

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/unique_fd.h"

namespace xylem::backend {

/// The switch of a process: SegmentHeader::enabled.
using CaptureSwitch = std::atomic<std::uint32_t>;

/// Waits for the first call of any process of a host. Not thread-safe.
class CallWatch {
 public:
  virtual ~CallWatch() = default;
  /// A borrowed descriptor, the same during the life of the watch. It becomes readable when a
  /// watched switch changes, and stays readable until end(). It may also become readable without a
  /// reason. -1: this system cannot watch switches.
  virtual int fd() const noexcept = 0;
  /// Watches these switches until end(). A switch that has another value than kOnAgentSleeps counts
  /// as changed. Returns false and watches nothing if there are too many switches, or if the system
  /// refuses. A hostile process can make the descriptor readable at any time.
  virtual bool begin(const std::vector<const CaptureSwitch*>& switches) = 0;
  /// Ends watching. The switches may be unmapped afterwards. May be called at any time.
  virtual void end() = 0;
};

/// A watch by futex_waitv(), which Linux has since 5.16. It does not work under a filter of system
/// calls (seccomp), which the agent inherits from the rank that starts it. A thread waits in the
/// kernel. The thread exists only between begin() and end(), and handles no signals.
class FutexWatch final : public CallWatch {
 public:
  /// The limit of the kernel, without the word for end().
  static constexpr std::size_t kMaxSwitches = 127;

  FutexWatch();
  ~FutexWatch() override;
  FutexWatch(const FutexWatch&) = delete;
  FutexWatch& operator=(const FutexWatch&) = delete;

  int fd() const noexcept override { return readable_.get(); }
  bool begin(const std::vector<const CaptureSwitch*>& switches) override;
  void end() override;

 private:
  struct Waiter;

  UniqueFd readable_;  // An eventfd.
  std::unique_ptr<Waiter> waiter_;
};

}  // namespace xylem::backend
