#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "base/run_contract.h"
#include "capture/core/agent_process_internal.h"
#include "capture/core/agent_start_internal.h"
#include "capture/core/process_internal.h"
#include "capture/core/run_key_internal.h"
#include "capture/core/segment_internal.h"
#include "capture/core/system_internal.h"
#include "capture/core/text_internal.h"
#include "capture/core/world_internal.h"

namespace xylem::capture {
namespace {

// An agent can start within this time even if the machine starts all ranks at once. This is also
// the longest delay of an MPI_Init.
constexpr std::uint64_t kDeadlineNs = 5'000'000'000;
constexpr long kPauseNs = 1'000'000;
constexpr int kBacklog = 1024;

using Path = Text<sizeof(sockaddr_un::sun_path)>;

// Closes a descriptor at the end of its scope. This library does not link the class that does this
// in other folders.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// Releases the lock explicitly: closing is not enough if another thread has forked, because the
// child has the descriptor too.
class FolderLock : public Descriptor {
 public:
  FolderLock() = default;
  ~FolderLock() {
    if (get() >= 0) flock(get(), LOCK_UN);
  }
};

class Reason {
 public:
  explicit Reason(char (&into)[kReasonBytes]) : into_(into) {}
  bool operator()(const char* what, const char* where = nullptr, int error = 0) {
    Text<kReasonBytes> text;
    text.add(what);
    if (where != nullptr) text.add(' ').add(where);
    if (error != 0) text.add(": ").add(error_text(error));
    memcpy(into_, text.c_str(), text.size() + 1);
    return false;
  }

 private:
  char (&into_)[kReasonBytes];
};

void pause_briefly() {
  const timespec pause{0, kPauseNs};
  nanosleep(&pause, nullptr);
}

bool is_run_id(const char* text) {
  unsigned length = 0;
  for (; text != nullptr && text[length] != 0; ++length) {
    const char c = text[length];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return length == kRunIdDigits;
}

bool find_folder(AgentProcess& agent, Path& folder, Reason& fail) {
  const char* run = getenv(kEnvRun);
  if (!is_run_id(run)) return fail("XYLEM_RUN is not a run id of 16 hexadecimal digits");
  char path[kRunFolderBytes];
  folder.add(write_run_folder(path, geteuid(), run));
  std::uint32_t pretended = 0;
  const char* text = getenv(kEnvTestSize);
  if (text != nullptr && read_number(&text, &pretended) && pretended > 0) {
    const std::uint32_t rank = launch_place().rank;
    const unsigned host = rank == kNoLaunchRank ? 0 : rank % pretended;
    folder.add('-').add_number(host);
    agent.host.add("test").add_number(host, 2);
  } else {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    agent.host.add(name);
  }
  agent.folder = folder.c_str();
  return true;
}

// The agent has the run's key and listens in this folder, so the folder must belong to this user
// and be closed to others.
bool open_folder(const Path& folder, Reason& fail) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return fail("cannot make the folder", folder.c_str(), errno);
  struct stat found {};
  if (stat_of_link(folder.c_str(), found) != 0)
    return errno == ENOENT ? false : fail("cannot look at", folder.c_str(), errno);
  if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & 077) != 0)
    return fail("not a private folder of this user:", folder.c_str());
  return true;
}

// An agent that ends may remove the folder and the lock's file. Then both are made again.
bool lock_folder(const Path& folder, std::uint64_t deadline, FolderLock& lock, Reason& fail) {
  Path path;
  path.add(folder.c_str()).add('/').add(kAgentLockName);
  fail("another process holds the lock for too long:", path.c_str());
  for (; monotonic_ns() < deadline; pause_briefly()) {
    if (!open_folder(folder, fail)) {
      if (errno == ENOENT) continue;
      return false;
    }
    lock.reset(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (lock.get() < 0) {
      if (errno == ENOENT) continue;
      return fail("cannot open", path.c_str(), errno);
    }
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    struct stat held {
    }, named{};
    if (stat_of(lock.get(), held) == 0 && stat_of_file(path.c_str(), named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
      return true;
    }
  }
  return false;
}

sockaddr_un address_of(const Path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Connects to the agent and waits only while its queue is full. Returns false and sets errno on
// failure.
bool reach(const Path& path, std::uint64_t deadline, Descriptor& socket_out) {
  const sockaddr_un address = address_of(path);
  socket_out.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket_out.get() < 0) return false;
  for (;;) {
    if (connect(socket_out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return true;
    if ((errno != EAGAIN && errno != EINTR) || monotonic_ns() >= deadline) return false;
    pause_briefly();
  }
}

bool listen_at(const Path& path, Descriptor& listener, Reason& fail) {
  unlink(path.c_str());  // Left by an agent that was killed.
  const sockaddr_un address = address_of(path);
  listener.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.get() < 0 ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return fail("cannot listen at", path.c_str(), errno);
  }
  return true;
}

// Retries until the deadline while more descriptors are in flight to the agent than its user's
// limit allows.
bool send_registration(int socket_fd, int segment_fd, const char* unwatched,
                       std::uint64_t deadline) {
  Registration registration{};
  registration.magic = kSegmentMagic;
  registration.layout_version = kLayoutVersion;
  registration.pid = static_cast<std::uint32_t>(getpid());
  registration.start_time = own_start_time();
  const LaunchPlace place = launch_place();
  registration.rank = place.rank == kNoLaunchRank ? 0 : place.rank;
  registration.world_size = place.size == 0 ? registration.rank + 1 : place.size;
  find_world_key(registration.world_key);
  strncpy(registration.unwatched, unwatched, sizeof registration.unwatched - 1);
  iovec part{&registration, sizeof registration};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (registration.unwatched[0] == 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &segment_fd, sizeof segment_fd);
  }
  for (;;) {
    const ssize_t sent = sendmsg(socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent == static_cast<ssize_t>(sizeof registration);
    const bool is_worth_waiting = errno == ETOOMANYREFS || errno == EAGAIN || errno == EINTR;
    if (!is_worth_waiting || monotonic_ns() > deadline) return false;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

bool register_with_agent(int segment_fd, const char* unwatched,
                         char (&reason)[kReasonBytes]) noexcept {
  Reason fail(reason);
  AgentProcess agent;
  Path folder, socket_path;
  if (!find_folder(agent, folder, fail)) return false;
  socket_path.add(folder.c_str()).add('/').add(kAgentSocketName);
  if (!socket_path.fits()) return fail("the path is too long:", socket_path.c_str());

  const std::uint64_t deadline = monotonic_ns() + kDeadlineNs;
  FolderLock lock;
  Descriptor connection;
  if (!lock_folder(folder, deadline, lock, fail)) return false;
  if (!reach(socket_path, deadline, connection)) {
    if (errno != ENOENT && errno != ECONNREFUSED)
      return fail("cannot reach the agent at", socket_path.c_str(), errno);
    KeyCopy key;
    if (!copy_key(key))
      return fail("no agent runs here and XYLEM_KEY, to start one, is not 64 hexadecimal digits");
    Descriptor listener;
    if (!listen_at(socket_path, listener, fail)) return false;
    agent.key = key.digits;
    agent.listener = listener.get();
    const int error = start_agent(agent, deadline);
    if (error != 0) {
      unlink(socket_path.c_str());
      if (error < 0) return fail("the agent ended as it started:", agent.program());
      return fail("cannot start the agent", agent.program(), error);
    }
    if (!reach(socket_path, deadline, connection))
      return fail("cannot reach the agent just started at", socket_path.c_str(), errno);
  }
  if (!send_registration(connection.get(), segment_fd, unwatched, deadline))
    return fail("cannot register with the agent at", socket_path.c_str(), errno);
  return true;
}

}  // namespace xylem::capture
