#include "backend/agent/registration_listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "backend/agent/channel_internal.h"
#include "backend/find/proc_table.h"
#include "base/log.h"
#include "capture/core/ring.h"

namespace xylem::backend {
namespace {

void poll_for(const UniqueFd& poll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, fd, &event);
}

bool is_readable(int fd) {
  pollfd asked{fd, POLLIN, 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & POLLIN) != 0;
}

bool is_exhaustion(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

UniqueFd open_spare() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

template <typename Field>
bool read_field(int segment, std::size_t offset, Field& field) {
  return ::pread(segment, &field, sizeof field, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(sizeof field);
}

wire::ProcessRow row_of(const capture::Registration& said, std::uint32_t pid) {
  const auto text = [](const auto& from) {
    std::string copy(from, ::strnlen(from, sizeof from));
    std::replace_if(
        copy.begin(), copy.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return copy;
  };
  wire::ProcessRow row;
  row.pid = pid;
  row.rank = Rank{said.rank};
  row.world_size = said.world_size;
  row.initialised = said.world_size > said.rank;
  std::copy(std::begin(said.world_key), std::end(said.world_key), row.world_key.begin());
  std::error_code none;
  row.program =
      std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", none).string();
  row.unwatched = text(said.unwatched);
  return row;
}

// Returns the process that registered, if its claims are true.
std::optional<NewProcess> vet(int connection, const capture::Registration& said,
                              std::vector<UniqueFd> descriptors, bool were_cut) {
  const auto refuse = [](const char* why) {
    log(Level::kWarn, "registration refused", {{"why", why}});
    return std::nullopt;
  };
  if (said.magic != capture::kSegmentMagic || said.layout_version != capture::kLayoutVersion)
    return refuse("it is of another version of xylem");
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
    return refuse("its process cannot be seen from here");

  NewProcess process;
  process.pid = static_cast<std::uint32_t>(peer.pid);
  process.start_time = said.start_time;
  process.row = row_of(said, process.pid);
  if (were_cut) process.row.unwatched = no_descriptor_text(EMFILE);
  if (process.row.unwatched.empty() && descriptors.size() != 1)
    return refuse("it holds no segment");
  if (!process.row.unwatched.empty()) return process;
  process.segment = std::move(descriptors.front());
  std::uint64_t magic = 0;
  if (!read_field(process.segment.get(), offsetof(capture::SegmentHeader, magic), magic) ||
      !read_field(process.segment.get(), offsetof(capture::SegmentHeader, start_time),
                  process.start_time) ||
      magic != capture::kSegmentMagic) {
    return refuse("its segment is none");
  }
  return process;
}

}  // namespace

// The spare is opened last, because a listener without it still works.
RegistrationListener::RegistrationListener(UniqueFd socket)
    : poll_(::epoll_create1(EPOLL_CLOEXEC)),
      retry_timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      spare_(open_spare()) {
  poll_for(poll_, retry_timer_.get());
  listen_at(std::move(socket));
}

void RegistrationListener::listen_at(UniqueFd socket) {
  resume();
  // Closing the socket does not remove it from the epoll, because another process has it, too.
  if (socket_) ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, socket_.get(), nullptr);
  socket_ = std::move(socket);
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  poll_for(poll_, socket_.get());
}

UniqueFd RegistrationListener::close() {
  waiting_.clear();
  for (UniqueFd* fd : {&poll_, &retry_timer_, &spare_}) fd->reset();
  return std::move(socket_);
}

void RegistrationListener::accept_all() {
  std::uint64_t times = 0;
  [[maybe_unused]] const ssize_t rung = ::read(retry_timer_.get(), &times, sizeof times);
  if (!spare_) spare_ = open_spare();
  // Without a free descriptor, accept4() fails even if no connection waits. So the queue is checked
  // first.
  while (is_readable(socket_.get())) {
    if (accept_next()) continue;
    if (is_exhaustion(errno)) pause(errno);
    return;
  }
  resume();
}

// Returns false and sets errno if the connection remains in the queue.
bool RegistrationListener::accept_next() {
  UniqueFd connection;
  for (;;) {
    connection.reset(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection) break;
    if (errno == EINTR || errno == ECONNABORTED) return true;
    if ((errno != EMFILE && errno != ENFILE) || !spare_) return false;
    spare_.reset();
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != ::geteuid()) {
    return true;
  }
  if (waiting_.size() == kMaxWaiting) waiting_.erase(waiting_.begin());
  poll_for(poll_, connection.get());
  waiting_.push_back(std::move(connection));
  return true;
}

// The socket stays readable, so the loop would spin without a pause.
void RegistrationListener::pause(int why) {
  itimerspec when{};
  when.it_value.tv_nsec = kRetryDelay;
  ::timerfd_settime(retry_timer_.get(), 0, &when, nullptr);
  if (!is_paused_ && retry_timer_) ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, socket_.get(), nullptr);
  is_paused_ = true;
  if (pause_was_said_) return;
  pause_was_said_ = true;
  log(Level::kWarn, "no descriptor is left, registrations wait", {{"why", std::strerror(why)}});
}

void RegistrationListener::resume() {
  if (!is_paused_) return;
  is_paused_ = false;
  const itimerspec never{};
  ::timerfd_settime(retry_timer_.get(), 0, &never, nullptr);
  poll_for(poll_, socket_.get());
}

std::optional<NewProcess> RegistrationListener::take() {
  accept_all();
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    capture::Registration said{};
    std::vector<UniqueFd> descriptors;
    bool were_cut = false;
    const ssize_t got = receive_with_fds(it->get(), &said, sizeof said, descriptors, &were_cut);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      ++it;
      continue;
    }
    const UniqueFd connection = std::move(*it);
    it = waiting_.erase(it);
    if (got != static_cast<ssize_t>(sizeof said)) continue;
    auto process = vet(connection.get(), said, std::move(descriptors), were_cut);
    if (process) return process;
  }
  return std::nullopt;
}

}  // namespace xylem::backend
