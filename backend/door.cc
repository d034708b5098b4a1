#include "backend/door.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "backend/channel_internal.h"
#include "backend/proc_table.h"
#include "base/log.h"
#include "capture/ring.h"

namespace xylem::backend {
namespace {

void poll_for(const UniqueFd& poll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, fd, &event);
}

template <typename Field>
bool read_field(int segment, std::size_t offset, Field& field) {
  return ::pread(segment, &field, sizeof field, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(sizeof field);
}

// The process that registered, if it is what it says.
std::optional<NewProcess> vet(int connection, const capture::Registration& said,
                              std::vector<UniqueFd> descriptors) {
  const auto refuse = [](const char* why) {
    log(Level::kWarn, "registration refused", {{"why", why}});
    return std::nullopt;
  };
  if (said.magic != capture::kSegmentMagic || said.layout_version != capture::kLayoutVersion)
    return refuse("it is of another version of xylem");
  if (descriptors.size() != 1) return refuse("it holds no segment");
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
    return refuse("its process cannot be seen from here");

  NewProcess process;
  process.pid = static_cast<std::uint32_t>(peer.pid);
  process.segment = std::move(descriptors.front());
  std::uint64_t magic = 0;
  std::uint64_t start_time = 0;
  if (!read_field(process.segment.get(), offsetof(capture::SegmentHeader, magic), magic) ||
      !read_field(process.segment.get(), offsetof(capture::SegmentHeader, start_time),
                  start_time) ||
      magic != capture::kSegmentMagic) {
    return refuse("its segment is none");
  }
  process.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
  // Ended meanwhile, and perhaps its number given to another process.
  if (start_time_of(process.pid) != start_time) process.pidfd.reset();
  return process;
}

}  // namespace

Door::Door(UniqueFd listener)
    : listener_(std::move(listener)), poll_(::epoll_create1(EPOLL_CLOEXEC)) {
  ::fcntl(listener_.get(), F_SETFL, ::fcntl(listener_.get(), F_GETFL) | O_NONBLOCK);
  poll_for(poll_, listener_.get());
}

void Door::accept_all() {
  for (;;) {
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!connection) return;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        peer.uid != ::geteuid()) {
      continue;
    }
    if (waiting_.size() == kMaxWaiting) waiting_.erase(waiting_.begin());
    poll_for(poll_, connection.get());
    waiting_.push_back(std::move(connection));
  }
}

std::optional<NewProcess> Door::take() {
  accept_all();
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    capture::Registration said{};
    std::vector<UniqueFd> descriptors;
    const ssize_t got = receive_with_fds(it->get(), &said, sizeof said, descriptors);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      ++it;
      continue;
    }
    const UniqueFd connection = std::move(*it);
    it = waiting_.erase(it);
    if (got != static_cast<ssize_t>(sizeof said)) continue;
    auto process = vet(connection.get(), said, std::move(descriptors));
    if (process) return process;
  }
  return std::nullopt;
}

}  // namespace xylem::backend
