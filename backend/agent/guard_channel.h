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

/// The processes that the guard holds and accepts. When the guard dies, the channel accepts on its
/// own copy of the listening socket. A guard that does not answer close() within the patience (it
/// is stopped or hangs) is killed and counts as dead: only one process may accept at the listener,
/// and an agent must not wait for ever. While a process waits at the listener for want of a
/// descriptor, the listener is not closed either, for the same patience. One thread; nothing
/// blocks.
class GuardChannel final : public ProcessSource {
 public:
  static constexpr Nanos kPatience = 5 * kSecond;

  /// `channel` leads to the guard, `listener` is the socket at which it accepts.
  GuardChannel(UniqueFd channel, UniqueFd listener, const RunFolder& folder,
               Nanos patience = kPatience);

  int fd() const override { return registrations_ ? registrations_->fd() : poll_.get(); }
  SourceEvent take() override;
  void forget(Lane lane) override;
  /// Answers kOpen at once while another process holds the folder's lock.
  void close() override;
  void remove_folder() override;

 private:
  std::optional<SourceEvent> from_guard();
  void guard_died();
  void end_silent_guard();
  void drained();
  SourceEvent process_event(Lane lane, NewProcess process);

  UniqueFd channel_;
  UniqueFd patience_over_;  // A timer, set while close() waits for the guard.
  UniqueFd poll_;           // An epoll of the two.
  UniqueFd spare_;          // Released when the listener needs a descriptor.
  Nanos patience_;
  UniqueFd listener_;
  RunFolder folder_;
  std::unique_ptr<RegistrationListener> registrations_;  // When the guard is dead.
  std::deque<SourceEvent> events_;
  bool ready_ = false;
  bool closing_ = false;
  bool came_while_closing_ = false;
  std::uint32_t next_lane_ = 1;
};

}  // namespace xylem::backend
