#include "backend/door.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
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

// The process that registered, if it is what it says.
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
  if (were_cut) process.row.unwatched = kNoDescriptors;
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
  auto life = open_process(process.pid, process.start_time);
  if (life) {
    process.pidfd = *std::move(life);
  } else {
    process.row.unwatched = kNoDescriptors;
    process.segment.reset();
  }
  return process;
}

}  // namespace

Door::Door(UniqueFd listener)
    : listener_(std::move(listener)), spare_(open_spare()), poll_(::epoll_create1(EPOLL_CLOEXEC)) {
  ::fcntl(listener_.get(), F_SETFL, ::fcntl(listener_.get(), F_GETFL) | O_NONBLOCK);
  poll_for(poll_, listener_.get());
}

void Door::accept_all() {
  if (!spare_) spare_ = open_spare();
  for (;;) {
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!connection && errno == EMFILE && spare_) {
      spare_.reset();
      continue;
    }
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
