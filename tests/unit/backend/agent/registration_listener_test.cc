// The listening socket of a host's agent without free descriptors: in the process (EMFILE), and on
// the whole host (ENFILE).

#include "backend/agent/registration_listener.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "backend/agent/channel_internal.h"
#include "backend/agent/run_folder.h"
#include "backend/find/proc_table.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/run_contract.h"
#include "capture/core/ring.h"
#include "tests/support/hand_made_segment.h"

namespace {
// A test must not fill the file table of the host, so it replaces a function.
bool host_table_is_full = false;
}  // namespace

// Replaces the function of the C library in this program.
extern "C" int accept4(int fd, sockaddr* addr, socklen_t* addr_len, int flags) {
  if (host_table_is_full) {
    errno = ENFILE;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_accept4, fd, addr, addr_len, flags));
}

namespace xylem::backend {
namespace {

using testing::HandMadeSegment;

constexpr Nanos kDeadline = 20 * kSecond;
constexpr Nanos kWatched = 300 * kMillisecond;

class RegistrationListenerTest : public ::testing::Test {
 protected:
  RegistrationListenerTest() {
    char name[] = "/tmp/xylem-listener-XXXXXX";
    folder_ = ::mkdtemp(name);
    ::getrlimit(RLIMIT_NOFILE, &limit_);
    auto listener = RunFolder(folder_).listen();
    EXPECT_TRUE(listener) << listener.error().message;
    registrations_.emplace(*std::move(listener));
  }
  ~RegistrationListenerTest() override {
    host_table_is_full = false;
    give_descriptors_back();
    set_log_sink({});
    std::filesystem::remove_all(folder_);
  }

  UniqueFd connect() const {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder_ + "/" + kAgentSocketName;
    std::copy(path.begin(), path.end(), address.sun_path);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0)
        << std::strerror(errno);
    return socket;
  }
  void register_at(const UniqueFd& connection) {
    const capture::Registration registration{capture::kSegmentMagic, capture::kLayoutVersion,
                                             static_cast<std::uint32_t>(::getpid())};
    ASSERT_TRUE(
        send_with_fds(connection.get(), &registration, sizeof registration, {segment_.fd().get()}));
  }

  /// From now on this process gets no further descriptor.
  void take_descriptors() {
    const rlimit few{128, limit_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    while (true) {
      UniqueFd filler(::dup(0));
      if (!filler) break;
      fillers_.push_back(std::move(filler));
    }
    ASSERT_EQ(errno, EMFILE);
  }
  void give_descriptors_back() {
    fillers_.clear();
    ::setrlimit(RLIMIT_NOFILE, &limit_);
  }

  /// Waits for the listener, as a loop does, and takes the processes that have registered. Empty if
  /// none came within this time.
  std::optional<NewProcess> wait_for_process(Nanos patience = kDeadline) {
    const Nanos end = monotonic_now() + patience;
    for (Nanos now = monotonic_now(); now < end; now = monotonic_now()) {
      pollfd fd{registrations_->fd(), POLLIN, 0};
      ::poll(&fd, 1, static_cast<int>((end - now) / kMillisecond) + 1);
      ++wakes_;
      if (auto process = registrations_->take()) return process;
    }
    return std::nullopt;
  }
  void expect_nobody_in_peace() {
    wakes_ = 0;
    EXPECT_FALSE(wait_for_process(kWatched));
    EXPECT_LE(wakes_, 10) << "the loop spins";
  }

  std::string folder_;
  rlimit limit_{};
  int wakes_ = 0;
  std::optional<RegistrationListener> registrations_;
  HandMadeSegment segment_;
  std::vector<UniqueFd> fillers_;
};

TEST_F(RegistrationListenerTest, TakesAProcessWithoutAPidfd) {
  const UniqueFd connection = connect();
  register_at(connection);
  segment_.header().start_time = start_time_of(static_cast<std::uint32_t>(::getpid()));
  const auto process = wait_for_process();
  ASSERT_TRUE(process);
  EXPECT_TRUE(process->segment);
  EXPECT_FALSE(process->pidfd) << "the worker opens its own";
  EXPECT_EQ(process->row.unwatched, "");
}

TEST_F(RegistrationListenerTest, TakesAProcessWithoutItsSegmentWhenNoDescriptorIsLeft) {
  const UniqueFd connection = connect();
  register_at(connection);
  take_descriptors();
  const auto process = wait_for_process();
  ASSERT_TRUE(process);
  EXPECT_FALSE(process->segment);
  EXPECT_EQ(process->row.unwatched, "its host's agent has no descriptor left (ulimit -n)");
}

TEST_F(RegistrationListenerTest, LetsThoseWaitInPeaceWhomItCannotAccept) {
  const UniqueFd silent = connect();  // Gets the spare descriptor, and keeps it.
  const UniqueFd next = connect();
  register_at(next);
  take_descriptors();
  expect_nobody_in_peace();
  EXPECT_TRUE(registrations_->is_paused());
  give_descriptors_back();
  const auto process = wait_for_process();
  ASSERT_TRUE(process);
  EXPECT_TRUE(process->segment);
  EXPECT_FALSE(registrations_->is_paused());
}

TEST_F(RegistrationListenerTest, WaitsInPeaceWhileTheHostsTableIsFullAndGoesOnWhenItIsNot) {
  std::vector<std::string> said;
  set_log_sink([&](Level, std::string_view line) { said.emplace_back(line); });
  const UniqueFd connection = connect();
  register_at(connection);
  host_table_is_full = true;
  expect_nobody_in_peace();
  EXPECT_TRUE(registrations_->is_paused());
  host_table_is_full = false;
  const auto process = wait_for_process();
  ASSERT_TRUE(process);
  EXPECT_TRUE(process->segment);
  ASSERT_EQ(said.size(), 1u) << "said once";
  EXPECT_NE(said[0].find("registrations wait"), std::string::npos) << said[0];
}

TEST_F(RegistrationListenerTest, AcceptsAtAnotherListenerThoughNoDescriptorIsLeft) {
  UniqueFd other = *RunFolder(folder_).listen();
  const UniqueFd connection = connect();
  register_at(connection);
  take_descriptors();
  registrations_->listen_at(std::move(other));
  EXPECT_TRUE(wait_for_process());
}

}  // namespace
}  // namespace xylem::backend
