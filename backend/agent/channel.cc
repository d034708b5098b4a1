#include <sys/socket.h>

#include <cstring>

#include "backend/agent/channel_internal.h"

namespace xylem::backend {
namespace {
constexpr std::size_t kMaxFds = 2;
}

ChannelMessage message_of(Lane lane, std::uint32_t pid, std::uint64_t start_time,
                          const wire::ProcessRow& row) {
  ChannelMessage message{ChannelKind::kProcess, lane,       pid,          row.rank,
                         row.world_size,        start_time, row.world_key};
  row.program.copy(message.program, sizeof message.program - 1);
  row.unwatched.copy(message.unwatched, sizeof message.unwatched - 1);
  return message;
}

wire::ProcessRow row_of(const ChannelMessage& message) {
  wire::ProcessRow row;
  row.lane = message.lane;
  row.pid = message.pid;
  row.initialised = message.world_size > raw(message.rank);
  row.world_key = message.world_key;
  row.rank = message.rank;
  row.world_size = message.world_size;
  row.program = message.program;
  row.unwatched = message.unwatched;
  return row;
}

ssize_t receive_with_fds(int socket, void* bytes, std::size_t size,
                         std::vector<UniqueFd>& descriptors, bool* were_cut) {
  iovec part{bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  if (were_cut != nullptr) *were_cut = (message.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
  return got;
}

bool send_with_fds(int socket, const void* bytes, std::size_t size,
                   const std::vector<int>& descriptors) {
  iovec part{const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const std::size_t length = descriptors.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(length);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(length);
    std::memcpy(CMSG_DATA(rights), descriptors.data(), length);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(size);
}

}  // namespace xylem::backend
