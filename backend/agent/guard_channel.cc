#include "backend/agent/guard_channel.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

#include "backend/agent/channel_internal.h"
#include "backend/find/proc_table.h"
#include "base/log.h"

namespace xylem::backend {
namespace {

void watch(const UniqueFd& poll, const UniqueFd& fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd.get();
  ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, fd.get(), &event);
}

// 0 stops the timer.
void ring_after(const UniqueFd& timer, Nanos delay) {
  itimerspec when{};
  when.it_value.tv_sec = delay / kSecond;
  when.it_value.tv_nsec = delay % kSecond;
  ::timerfd_settime(timer.get(), 0, &when, nullptr);
}

bool has_rung(const UniqueFd& timer) {
  std::uint64_t times = 0;
  return ::read(timer.get(), &times, sizeof times) == static_cast<ssize_t>(sizeof times);
}

// If no descriptor for the process can be opened, it counts as unwatched. A process without a
// segment needs no descriptor.
void open_life(NewProcess& process) {
  if (!process.segment) return;
  auto life = open_process(process.pid, process.start_time);
  if (life) {
    process.pidfd = *std::move(life);
  } else {
    process.segment.reset();
    process.row.unwatched = life.error().message;
  }
}

}  // namespace

GuardChannel::GuardChannel(UniqueFd channel, UniqueFd listener, const RunFolder& folder,
                           Nanos patience)
    : channel_(std::move(channel)),
      patience_over_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      spare_(::fcntl(poll_.get(), F_DUPFD_CLOEXEC, 0)),
      patience_(patience),
      listener_(std::move(listener)),
      folder_(folder) {
  watch(poll_, channel_);
  watch(poll_, patience_over_);
}

SourceEvent GuardChannel::take() {
  if (events_.empty() && !registrations_) {
    if (auto event = from_guard()) return *std::move(event);
    if (!registrations_ && closing_ && has_rung(patience_over_)) end_silent_guard();
  }
  if (events_.empty() && registrations_) {
    if (auto process = registrations_->take()) {
      return process_event(Lane{next_lane_}, *std::move(process));
    }
    if (closing_ && (!registrations_->is_paused() || has_rung(patience_over_))) drained();
  }
  if (events_.empty()) return {};
  SourceEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

SourceEvent GuardChannel::process_event(Lane lane, NewProcess process) {
  next_lane_ = std::max(next_lane_, raw(lane) + 1);
  came_while_closing_ = closing_;
  open_life(process);
  SourceEvent event;
  event.kind = SourceEvent::Kind::kProcess;
  event.process = std::move(process);
  event.process.lane = lane;
  event.process.row.lane = lane;
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
  if (message.kind == ChannelKind::kProcess) {
    NewProcess process;
    process.pid = message.pid;
    process.start_time = message.start_time;
    process.row = row_of(message);
    if (!descriptors.empty()) process.segment = std::move(descriptors[0]);
    if (process.row.unwatched.empty() && !process.segment)
      process.row.unwatched = no_descriptor_text(EMFILE);
    return process_event(message.lane, std::move(process));
  }
  if (message.kind == ChannelKind::kReady) {
    ready_ = true;
    next_lane_ = std::max(next_lane_, raw(message.lane));
    SourceEvent event;
    event.kind = SourceEvent::Kind::kReady;
    return event;
  }
  if (message.kind == ChannelKind::kDrained && closing_) drained();
  return std::nullopt;  // The resulting events are in events_.
}

// Processes that the guard had accepted but not passed on are lost; they count as never registered.
// Everything else continues.
void GuardChannel::guard_died() {
  log(Level::kWarn, "the guard died; the worker continues alone");
  channel_.reset();
  spare_.reset();
  if (closing_) ring_after(patience_over_, patience_);
  registrations_ = std::make_unique<RegistrationListener>(std::move(listener_));
  if (!ready_) {
    ready_ = true;
    SourceEvent event;
    event.kind = SourceEvent::Kind::kReady;
    events_.push_back(std::move(event));
  }
}

// The guard made the channel, so the kernel knows its process id. The worker is the guard's child:
// if the guard had ended, the worker would have another parent, and the id could be another
// process's.
void GuardChannel::end_silent_guard() {
  ucred guard{};
  socklen_t size = sizeof guard;
  const bool known =
      ::getsockopt(channel_.get(), SOL_SOCKET, SO_PEERCRED, &guard, &size) == 0 && guard.pid > 0;
  log(Level::kWarn, "the guard does not answer; it is killed", {{"pid", guard.pid}});
  if (known && guard.pid == ::getppid()) ::kill(guard.pid, SIGKILL);
  guard_died();
}

void GuardChannel::forget(Lane lane) {
  if (registrations_) return;
  const ChannelMessage message{ChannelKind::kForget, lane};
  // If the message cannot be sent, the guard only keeps the segment until it ends.
  send_with_fds(channel_.get(), &message, sizeof message, {});
}

void GuardChannel::close() {
  if (closing_) return;
  // Without a folder no process can find this agent, and there is nothing to lock.
  if (folder_.is_there() && !folder_.try_lock()) {
    SourceEvent event;
    event.kind = SourceEvent::Kind::kOpen;
    events_.push_back(std::move(event));
    return;
  }
  closing_ = true;
  came_while_closing_ = false;
  if (folder_.is_there()) folder_.unlink_socket();
  ring_after(patience_over_, patience_);
  if (registrations_) return;  // The next take() returns the processes that are left.
  const ChannelMessage message{ChannelKind::kDrain};
  send_with_fds(channel_.get(), &message, sizeof message, {});
}

// A process holds the lock while it registers. This worker has the lock, so no process is
// registering.
void GuardChannel::drained() {
  closing_ = false;
  ring_after(patience_over_, 0);
  SourceEvent event;
  event.kind = came_while_closing_ ? SourceEvent::Kind::kOpen : SourceEvent::Kind::kClosed;
  events_.push_back(std::move(event));
  if (!came_while_closing_) return;
  auto listener = folder_.listen();
  if (!listener) {
    log(Level::kError, "no more processes can register", {{"why", listener.error().message}});
  } else if (registrations_) {
    registrations_->listen_at(*std::move(listener));
  } else {
    const ChannelMessage message{ChannelKind::kListen};
    listener_ = *std::move(listener);
    if (!send_with_fds(channel_.get(), &message, sizeof message, {listener_.get()}))
      end_silent_guard();
  }
  folder_.unlock();
}

void GuardChannel::remove_folder() { folder_.remove(); }

}  // namespace xylem::backend
