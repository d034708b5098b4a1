// Links over Unix sockets, and who is not let in there.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/runtime.h"
#include "tests/support/scripted_node.h"

namespace xylem::net {
namespace {

using testing::Root;
using testing::run_client;
using testing::ScriptedNode;

class UnixSocket : public ::testing::Test {
 protected:
  UnixSocket() {
    std::string name = (std::filesystem::temp_directory_path() / "xylem-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    set_log_sink([](Level, std::string_view) {});
  }
  ~UnixSocket() override {
    set_log_sink({});
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return folder_ / "socket"; }

  // Does it in a thread that is another user; a socket remembers who made it listen or connect.
  template <typename Work>
  static auto as_somebody_else(Work work) {
    return std::async(std::launch::async,
                      [work] {
                        constexpr uid_t kNobody = 65534;
                        // The system call changes this thread alone, unlike setresuid().
                        EXPECT_EQ(::syscall(SYS_setresuid, kNobody, kNobody, kNobody), 0);
                        return work();
                      })
        .get();
  }

  std::filesystem::path folder_;
};

TEST_F(UnixSocket, IsOpenToItsOwnerOnly) {
  const mode_t before = ::umask(0);
  const auto socket = listen_unix(path());
  ::umask(before);
  ASSERT_TRUE(socket);
  EXPECT_EQ(std::filesystem::status(path()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(UnixSocket, NeedsAShortPath) {
  const auto socket = listen_unix("/tmp/" + std::string(103, 'x'));
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, Code::kInvalidArgument);
}

TEST_F(UnixSocket, WithoutAHostKeyIsTriedWhereItIsFoundAndElseTcpIs) {
  for (const bool is_here : {true, false}) {
    const Key key = make_key();
    ScriptedNode server;
    server.down = [](overlay::Network& n, overlay::LinkId, const Error&) { n.stop(0); };
    Root root(server, key, true, is_here ? path() : std::string());
    wire::Address local;
    local.unix_path = is_here ? path() : path() + "-on-another-host";
    RuntimeOptions options;
    options.run = "run1";
    options.key = key;
    options.host_key = "my own";
    ScriptedNode client;
    wire::Transport transport = wire::Transport::kUnknown;
    client.start = [&](overlay::Network& n) {
      n.connect({kFrontEndNode, {local, root.address}}, wire::Hello{});
    };
    client.up = [&transport](overlay::Network& n, overlay::LinkId link, const overlay::Peer&) {
      transport = n.status(link).transport;
      n.stop(0);
    };
    EXPECT_EQ(run_node(client, std::move(options)), 0);
    EXPECT_EQ(root.wait(), 0);
    EXPECT_EQ(transport, is_here ? wire::Transport::kUnix : wire::Transport::kTls);
  }
}

TEST_F(UnixSocket, ThatIsElsewhereDoesNotHideARefusal) {
  ScriptedNode server;
  server.timer = [](overlay::Network& n) {
    if (n.refused() > 0) return n.stop(0);
    n.set_timer(monotonic_now() + 10 * kMillisecond);
  };
  server.start = [](overlay::Network& n) { n.set_timer(monotonic_now()); };
  Root root(server, make_key());
  wire::Address elsewhere;
  elsewhere.unix_path = path();
  for (const bool refuses : {true, false}) {
    ScriptedNode client;
    client.start = [&](overlay::Network& n) {
      std::vector<wire::Address> addresses = {elsewhere};
      if (refuses) addresses.push_back(root.address);
      n.connect({kFrontEndNode, addresses}, wire::Hello{});
    };
    client.failed = [refuses](overlay::Network& n, const Error& why) {
      EXPECT_EQ(why.code, refuses ? Code::kPermissionDenied : Code::kUnavailable) << why.message;
      n.stop(0);
    };
    RuntimeOptions options;
    options.run = "run1";
    options.key = make_key();
    EXPECT_EQ(run_node(client, std::move(options)), 0);
  }
  EXPECT_EQ(root.wait(), 0);
}

TEST_F(UnixSocket, RefusesAnotherUserBeforeAWordIsSaid) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const Key key = make_key();
  ScriptedNode server;
  server.up = [](overlay::Network& n, overlay::LinkId, const overlay::Peer&) {
    n.stop(n.refused() == 1 ? 0 : 1);
  };
  // It has long to prove the key, so that no time limit does what the owner's check must do.
  Root root(server, key, true, path(), 60 * kSecond);
  // As if both the folder and the file had been opened to everybody.
  std::filesystem::permissions(folder_, std::filesystem::perms::all);
  std::filesystem::permissions(path(), std::filesystem::perms::all);
  as_somebody_else([this] {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path().c_str(), path().size() + 1);
    const UniqueFd stranger(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(stranger.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval patience{10, 0};
    ::setsockopt(stranger.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char byte;
    EXPECT_EQ(::recv(stranger.get(), &byte, 1, 0), 0) << "it is not hung up on";
    return 0;
  });
  ScriptedNode friendly;
  friendly.up = [](overlay::Network& n, overlay::LinkId, const overlay::Peer&) { n.stop(0); };
  EXPECT_EQ(run_client(friendly, key, root.address), 0);
  EXPECT_EQ(root.wait(), 0);
}

TEST_F(UnixSocket, OfAnotherUserIsNotSpokenTo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  std::filesystem::permissions(folder_, std::filesystem::perms::all);
  const auto trap = as_somebody_else([this] { return listen_unix(path()); });
  ASSERT_TRUE(trap) << trap.error().message;
  ScriptedNode client;
  std::string why;
  client.failed = [&why](overlay::Network& n, const Error& e) {
    why = e.message;
    n.stop(0);
  };
  wire::Address address;
  address.unix_path = path();
  EXPECT_EQ(run_client(client, make_key(), address), 0);
  EXPECT_NE(why.find("the other end belongs to user 65534"), std::string::npos) << why;
}

}  // namespace
}  // namespace xylem::net
