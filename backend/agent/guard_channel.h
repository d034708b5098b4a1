#pragma once

// The worker's end of the channel to the guard.

#include <deque>
#include <memory>
#include <optional>

#include "backend/agent/process_source.h"
#include "backend/agent/registration_listener.h"
#include "backend/agent/run_folder.h"
#include "base/clock.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// The worker's source of processes. First come the processes that the guard already has, then
/// those that register later. When the guard dies, the channel itself accepts registrations, with
/// its copy of the listening socket. Only one process may accept at the listener. So if the guard
/// does not answer close() within `patience`, it is killed and counts as dead.
///
/// A process may wait at the listener because no descriptor is free. Then the answer to close() is
/// delayed, but at most by twice `patience`: first the guard waits, then this object. Not
/// thread-safe; nothing blocks.
class GuardChannel final : public ProcessSource {
 public:
  static constexpr Nanos kPatience = 5 * kSecond;

  /// `channel` is the connection to the guard. `listener` is the socket at which the guard accepts.
  GuardChannel(UniqueFd channel, UniqueFd listener, const RunFolder& folder,
               Nanos patience = kPatience);

  int fd() const override { return registrations_ ? registrations_->fd() : poll_.get(); }
  SourceEvent take() override;
  void forget(Lane lane) override;
  /// Answers kOpen immediately while another process holds the folder's lock.
  void close() override;
  void remove_folder() override;

 private:
  std::optional<SourceEvent> from_guard();
  void guard_died();
  void end_silent_guard();
  void drained();
  SourceEvent process_event(Lane lane, NewProcess process);

  UniqueFd channel_;
  UniqueFd patience_over_;  // A timer that runs from close() to its answer.
  UniqueFd poll_;           // An epoll of channel and timer.
  UniqueFd spare_;          // Closed to give the listener a free descriptor.
  Nanos patience_;
  UniqueFd listener_;
  RunFolder folder_;
  std::unique_ptr<RegistrationListener> registrations_;  // Set when the guard is dead.
  std::deque<SourceEvent> events_;
  bool ready_ = false;
  bool closing_ = false;
  bool came_while_closing_ = false;
  std::uint32_t next_lane_ = 1;
};

}  // namespace xylem::backend
