#include "backend/guard_channel.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backend/channel_internal.h"
#include "base/log.h"

namespace xylem::backend {

GuardChannel::GuardChannel(UniqueFd channel, UniqueFd listener, RunFolder folder)
    : channel_(std::move(channel)), listener_(std::move(listener)), folder_(std::move(folder)) {}

SourceEvent GuardChannel::take() {
  if (events_.empty() && !door_) {
    if (auto event = from_guard()) return *std::move(event);
  }
  if (events_.empty() && door_) {
    if (auto process = door_->take()) {
      return process_event(Lane{next_lane_}, *std::move(process));
    }
    if (closing_) drained();
  }
  if (events_.empty()) return {};
  SourceEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

SourceEvent GuardChannel::process_event(Lane lane, NewProcess process) {
  next_lane_ = std::max(next_lane_, raw(lane) + 1);
  came_while_closing_ = closing_;
  SourceEvent event;
  event.kind = SourceEvent::Kind::kProcess;
  event.process = std::move(process);
  event.process.lane = lane;
  return event;
}

std::optional<SourceEvent> GuardChannel::from_guard() {
  ChannelMessage message;
  std::vector<UniqueFd> descriptors;
  const ssize_t got = receive_with_fds(channel_.get(), &message, sizeof message, descriptors);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (got != static_cast<ssize_t>(sizeof message)) {
    guard_died();
    return std::nullopt;
  }
  if (message.kind == ChannelKind::kProcess && !descriptors.empty()) {
    NewProcess process;
    process.pid = message.pid;
    process.segment = std::move(descriptors[0]);
    if (descriptors.size() > 1) process.pidfd = std::move(descriptors[1]);
    return process_event(Lane{message.lane}, std::move(process));
  }
  if (message.kind == ChannelKind::kReady) {
    ready_ = true;
    next_lane_ = std::max(next_lane_, message.lane);
    SourceEvent event;
    event.kind = SourceEvent::Kind::kReady;
    return event;
  }
  if (message.kind == ChannelKind::kDrained && closing_) drained();
  return std::nullopt;  // What that brought about stands in events_.
}

// What the guard had accepted and not passed on is gone with it; those processes count as never
// registered. All else goes on.
void GuardChannel::guard_died() {
  log(Level::kWarn, "guard died, the worker goes on alone");
  channel_.reset();
  door_ = std::make_unique<Door>(std::move(listener_));
  if (!ready_) {
    ready_ = true;
    SourceEvent event;
    event.kind = SourceEvent::Kind::kReady;
    events_.push_back(std::move(event));
  }
}

void GuardChannel::forget(Lane lane) {
  if (door_) return;
  const ChannelMessage message{ChannelKind::kForget, raw(lane), 0};
  // Not sent: the guard holds the segment until it ends, no more.
  send_with_fds(channel_.get(), &message, sizeof message, {});
}

void GuardChannel::close() {
  if (closing_) return;
  // Without a folder nobody finds us, and there is nothing to lock.
  if (folder_.is_there() && !folder_.try_lock()) {
    SourceEvent event;
    event.kind = SourceEvent::Kind::kOpen;
    events_.push_back(std::move(event));
    return;
  }
  closing_ = true;
  came_while_closing_ = false;
  if (folder_.is_there()) folder_.unlink_socket();
  if (door_) return;  // The next take() finds who is left.
  const ChannelMessage message{ChannelKind::kDrain, 0, 0};
  send_with_fds(channel_.get(), &message, sizeof message, {});
}

// Whoever registers holds the lock while it does; we hold it: nobody is on the way any more.
void GuardChannel::drained() {
  closing_ = false;
  SourceEvent event;
  event.kind = came_while_closing_ ? SourceEvent::Kind::kOpen : SourceEvent::Kind::kClosed;
  events_.push_back(std::move(event));
  if (!came_while_closing_) return;
  auto listener = folder_.listen();
  if (!listener) {
    log(Level::kError, "no more processes can register", {{"why", listener.error().message}});
  } else if (door_) {
    door_ = std::make_unique<Door>(*std::move(listener));
  } else {
    const ChannelMessage message{ChannelKind::kListen, 0, 0};
    send_with_fds(channel_.get(), &message, sizeof message, {listener->get()});
    listener_ = *std::move(listener);
  }
  folder_.unlock();
}

void GuardChannel::remove_folder() { folder_.remove(); }

}  // namespace xylem::backend
