#pragma once

// The capture library, linked into the test program above a stub MPI (stub_mpi.h). Tests can read
// its segment, and the folder of the agent at which it registers.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/run_contract.h"
#include "base/unique_fd.h"
#include "capture/core/process_internal.h"
#include "capture/core/ring.h"
#include "capture/core/segment_internal.h"
#include "tests/support/stub_mpi/stub_mpi.h"

namespace xylem::capture {

using Calls = std::map<std::uint16_t, std::uint64_t>;

/// The segment at the address at which the library itself has mapped it. At another address the
/// thread sanitizer would not see that reader and writers use the same memory.
inline SegmentHeader& segment() { return *process.segment; }

inline ThreadRing& ring_at(std::uint32_t number) { return ring_of(segment(), number); }

/// A function's counters over all rings: `&ThreadRing::calls` or `&ThreadRing::lost`.
template <class Counters>
Calls counters(Counters ThreadRing::*which) {
  Calls found;
  for (std::uint32_t r = 0; r < segment().threads.load(); ++r) {
    for (std::uint16_t f = 0; f < kFunctionCount; ++f) {
      if (const std::uint64_t count = (ring_at(r).*which)[f].load()) found[f] += count;
    }
  }
  return found;
}

/// The agent's side of a registration: the run's folder with a socket in it.
class AgentFolder {
 public:
  explicit AgentFolder(const std::string& run, int backlog = SOMAXCONN)
      : folder_("/dev/shm/xylem-" + std::to_string(::geteuid()) + "-" + run) {
    ::mkdir(folder_.c_str(), 0700);
    const sockaddr_un address = socket_address();
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool listens =
        ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(listener_.get(), backlog) == 0;
    EXPECT_TRUE(listens) << address.sun_path;
  }
  ~AgentFolder() { std::filesystem::remove_all(folder_); }
  AgentFolder(const AgentFolder&) = delete;
  AgentFolder& operator=(const AgentFolder&) = delete;

  /// Returns the registration of the next process; all zero if the message is not a registration.
  Registration next() {
    const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Registration registration{};
    const auto length = ::recv(connection.get(), &registration, sizeof registration, 0);
    const bool is_one = length == sizeof registration && registration.magic == kSegmentMagic;
    return is_one ? registration : Registration{};
  }
  /// Returns the pid of the next process that has registered; 0 if the message is not a
  /// registration.
  pid_t registered() { return static_cast<pid_t>(next().pid); }

  /// Connects until the socket's queue is full. A process that registers now waits and holds the
  /// lock.
  void fill_queue() {
    const sockaddr_un address = socket_address();
    for (;;) {
      UniqueFd one(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (::connect(one.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return;
      fillers_.push_back(std::move(one));
    }
  }
  void empty_queue() {
    for (; !fillers_.empty(); fillers_.pop_back())
      UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  /// True if a process is registering.
  bool is_locked() const {
    const UniqueFd lock(
        ::open((folder_ + "/" + xylem::kAgentLockName).c_str(), O_RDWR | O_CLOEXEC));
    return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0;
  }

 private:
  sockaddr_un socket_address() const {
    const std::string path = folder_ + "/" + xylem::kAgentSocketName;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
  }

  const std::string folder_;
  UniqueFd listener_;
  std::vector<UniqueFd> fillers_;
};

inline void start_mpi() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
}

}  // namespace xylem::capture
