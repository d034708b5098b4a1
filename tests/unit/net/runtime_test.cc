// The event loop over real sockets on loopback.

#include "net/runtime.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "net/address.h"
#include "tests/support/scripted_node.h"

namespace xylem::net {
namespace {

using namespace std::chrono_literals;
using testing::Root;
using testing::run_client;
using testing::ScriptedNode;

// Sends a packet of so many bytes down and expects it back.
void echo(bool tls, const std::string& unix_path, std::size_t bytes) {
  const Key key = make_key();
  ScriptedNode server;
  server.message = [](overlay::Network& n, overlay::LinkId l, wire::Message m) {
    n.send(l, std::move(m));
  };
  server.up = [](overlay::Network&, overlay::LinkId, const overlay::Peer& peer) {
    EXPECT_EQ(peer.level, 3u);
    EXPECT_TRUE(peer.accepted);
  };
  server.down = [](overlay::Network& n, overlay::LinkId, const Error&) { n.stop(0); };
  Root root(server, key, tls, unix_path);

  ScriptedNode client;
  wire::Packet packet;
  packet.id.stream = wire::kChunkStream;
  packet.id.wave_end = 1;
  packet.id.sources = IntervalSet::of(4);
  packet.payload.assign(bytes, std::byte{0x5a});
  bool equal = false;
  client.up = [&packet](overlay::Network& n, overlay::LinkId l, const overlay::Peer&) {
    n.send(l, packet);
  };
  client.message = [&](overlay::Network& n, overlay::LinkId, wire::Message m) {
    const auto* back = std::get_if<wire::Packet>(&m);
    equal = back != nullptr && back->payload == packet.payload && back->id == packet.id;
    n.stop(0);
  };
  EXPECT_EQ(run_client(client, key, root.address, tls), 0);
  EXPECT_TRUE(equal);
  EXPECT_EQ(root.wait(), 0);
}

TEST(Runtime, CarriesPacketsOverTls) { echo(true, "", 100); }
TEST(Runtime, CarriesPacketsOverPlainTcp) { echo(false, "", 100); }
TEST(Runtime, CarriesLargePackets) { echo(true, "", 12u << 20); }
TEST(Runtime, CarriesPacketsOverAUnixSocketWithoutTls) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("xylem-test-" + std::to_string(::getpid()) + ".sock");
  echo(true, path.string(), 1000);
  std::filesystem::remove(path);
}

TEST(Runtime, RefusesAnotherKeyOnBothSides) {
  for (const bool tls : {true, false}) {
    SCOPED_TRACE(tls ? "tls" : "plain");
    ScriptedNode server;
    server.up = [](overlay::Network&, overlay::LinkId, const overlay::Peer&) {
      ADD_FAILURE() << "a stranger got in";
    };
    server.timer = [](overlay::Network& n) {
      if (n.refused() > 0) return n.stop(0);
      n.set_timer(monotonic_now() + 10 * kMillisecond);
    };
    server.start = [](overlay::Network& n) { n.set_timer(monotonic_now()); };
    Root root(server, make_key(), tls);
    ScriptedNode client;
    std::string why;
    client.failed = [&why](overlay::Network& n, const Error& e) {
      EXPECT_EQ(e.code, Code::kPermissionDenied);
      why = e.message;
      n.stop(0);
    };
    EXPECT_EQ(run_client(client, make_key(), root.address, tls), 0);
    EXPECT_NE(why.find(tls ? "no TLS with the run's key" : "the key is not that of run run1"),
              std::string::npos)
        << why;
    EXPECT_EQ(root.wait(), 0);
  }
}

TEST(Runtime, TakesABrokenHandshakeForNoRefusal) {
  auto listener = listen_tcp("127.0.0.1", 0);
  ASSERT_TRUE(listener) << listener.error().message;
  wire::Address address;
  address.host = "127.0.0.1";
  address.port = *bound_port(*listener);
  std::thread hangs_up([&listener] {
    pollfd caller{listener->get(), POLLIN, 0};
    EXPECT_EQ(::poll(&caller, 1, 20'000), 1) << "nobody connects";
    const UniqueFd connection(::accept(listener->get(), nullptr, nullptr));
    char hello[64];
    EXPECT_GT(::read(connection.get(), hello, sizeof hello), 0);
  });
  ScriptedNode client;
  client.failed = [](overlay::Network& n, const Error& e) {
    EXPECT_EQ(e.code, Code::kUnavailable) << e.message;
    n.stop(0);
  };
  EXPECT_EQ(run_client(client, make_key(), address), 0);
  hangs_up.join();
}

// Runs a root and a client that disagree on TLS; returns what the client was told.
std::string disagree_on_tls(bool root_has_it) {
  const Key key = make_key();
  ScriptedNode server;
  server.up = [](overlay::Network&, overlay::LinkId, const overlay::Peer&) {
    ADD_FAILURE() << "they did not agree";
  };
  server.timer = [](overlay::Network& n) {
    if (n.refused() > 0) return n.stop(0);
    n.set_timer(monotonic_now() + 10 * kMillisecond);
  };
  server.start = [](overlay::Network& n) { n.set_timer(monotonic_now()); };
  Root root(server, key, root_has_it);
  ScriptedNode client;
  std::string why;
  client.failed = [&why](overlay::Network& n, const Error& e) {
    why = e.message;
    n.stop(0);
  };
  EXPECT_EQ(run_client(client, key, root.address, !root_has_it), 0);
  EXPECT_EQ(root.wait(), 0);
  return why;
}

TEST(Runtime, RefusesWhoHasTlsOffWhereItIsOnWithASentence) {
  EXPECT_NE(disagree_on_tls(true).find("links of this run use TLS, and yours does not"),
            std::string::npos);
}

TEST(Runtime, RefusesWhoHasTlsOnWhereItIsOffWithASentence) {
  EXPECT_NE(disagree_on_tls(false).find("is TLS off on the other side?"), std::string::npos);
}

TEST(Runtime, TellsWhenAParentCannotBeReached) {
  ScriptedNode client;
  std::string why;
  client.failed = [&why](overlay::Network& n, const Error& e) {
    EXPECT_EQ(e.code, Code::kUnavailable);
    why = e.message;
    n.stop(7);
  };
  wire::Address nowhere;
  nowhere.host = "127.0.0.1";
  nowhere.port = 1;
  EXPECT_EQ(run_client(client, make_key(), nowhere), 7);
  EXPECT_EQ(why, "127.0.0.1:1: Connection refused");
}

TEST(Runtime, TellsOfAClosedLinkOnceOnBothSides) {
  const Key key = make_key();
  std::atomic<int> server_downs = 0;
  ScriptedNode server;
  server.up = [](overlay::Network& n, overlay::LinkId l, const overlay::Peer&) {
    n.close(l, "enough");
  };
  server.down = [&](overlay::Network& n, overlay::LinkId, const Error& why) {
    ++server_downs;
    EXPECT_EQ(why.message, "enough");
    n.stop(0);
  };
  Root root(server, key);
  int client_downs = 0;
  ScriptedNode client;
  client.down = [&](overlay::Network& n, overlay::LinkId, const Error&) {
    ++client_downs;
    n.stop(0);
  };
  EXPECT_EQ(run_client(client, key, root.address), 0);
  EXPECT_EQ(root.wait(), 0);
  EXPECT_EQ(server_downs, 1);
  EXPECT_EQ(client_downs, 1);
}

// Connects to a root and returns what it learns of the root's clock, once it knows it.
overlay::LinkStatus learn_clock(std::uint64_t own_clock, Nanos at_least_round_trip) {
  const Key key = make_key();
  ScriptedNode server;
  server.down = [](overlay::Network& n, overlay::LinkId, const Error&) { n.stop(0); };
  Root root(server, key);
  ScriptedNode client;
  overlay::LinkStatus status;
  overlay::LinkId link{};
  client.start = [&root](overlay::Network& n) {
    n.connect({kFrontEndNode, {root.address}}, wire::Hello{});
  };
  client.up = [&](overlay::Network& n, overlay::LinkId l, const overlay::Peer& peer) {
    EXPECT_EQ(peer.root_clock, peer.clock) << "the peer is the root";
    link = l;
    const overlay::LinkStatus first = n.status(link);
    EXPECT_EQ(first.clock_known, own_clock == clock_identity()) << "before anything is measured";
    EXPECT_EQ(first.round_trip_ns, 0);
    n.set_timer(monotonic_now());
  };
  client.timer = [&](overlay::Network& n) {
    status = n.status(link);
    if (status.clock_known && status.round_trip_ns >= at_least_round_trip) return n.stop(0);
    n.set_timer(monotonic_now() + kMillisecond);
  };
  RuntimeOptions options;
  options.run = "run1";
  options.key = key;
  options.clock = own_clock;
  EXPECT_EQ(run_node(client, std::move(options)), 0);
  EXPECT_EQ(root.wait(), 0);
  return status;
}

TEST(Runtime, MeasuresTheClockOfTheRootWithABound) {
  const overlay::LinkStatus status = learn_clock(clock_identity() + 1, 0);
  EXPECT_GT(status.round_trip_ns, 0);
  EXPECT_GT(status.error_ns, 0);
  // Both ends have the same clock here, so the true offset is 0.
  EXPECT_LE(std::abs(status.offset_ns), status.error_ns);
}

TEST(Runtime, KnowsAtOnceThatItHasTheRootsClock) {
  ASSERT_NE(clock_identity(), 0u);
  const overlay::LinkStatus status = learn_clock(clock_identity(), 0);
  EXPECT_EQ(status.offset_ns, 0);
  EXPECT_EQ(status.error_ns, 0);
  const overlay::LinkStatus later = learn_clock(clock_identity(), 1);
  EXPECT_GT(later.round_trip_ns, 0) << "the way is still measured";
  EXPECT_EQ(later.offset_ns, 0);
}

// ---- notices ----

// A node between a root and a leaf, with a board: it is told of both links and of no notice.
struct RelayNode {
  RelayNode(const Key& key, const wire::Address& root, const wire::Address& own, UniqueFd listener)
      : board({wire::Role::kCommProcess, "middle", 2}) {
    node.start = [root](overlay::Network& n) {
      wire::Hello hello;
      hello.role = wire::Role::kCommProcess;
      n.connect({kFrontEndNode, {root}}, hello);
    };
    node.up = [](overlay::Network& n, overlay::LinkId link, const overlay::Peer& peer) {
      if (!peer.accepted) n.set_upward(link);
    };
    node.message = [](overlay::Network&, overlay::LinkId, wire::Message message) {
      EXPECT_FALSE(std::holds_alternative<wire::Notice>(message));
    };
    node.down = [](overlay::Network& n, overlay::LinkId, const Error&) { n.stop(0); };
    address = own;
    options.run = "run1";
    options.key = key;
    options.notices = &board;
    options.listening.push_back(std::move(listener));
  }
  int run() { return run_node(node, std::move(options)); }

  ScriptedNode node;
  overlay::NoticeBoard board;
  RuntimeOptions options;
  wire::Address address;
};

TEST(Runtime, CarriesNoticesOfEveryNodeToTheRoot) {
  const Key key = make_key();
  std::map<std::string, wire::Notice> heard;
  ScriptedNode server;
  server.message = [&heard](overlay::Network& n, overlay::LinkId, wire::Message message) {
    if (auto* notice = std::get_if<wire::Notice>(&message)) heard[notice->host] = *notice;
    if (heard.size() == 2) n.stop(0);
  };
  Root root(server, key);
  auto listener = listen_tcp("127.0.0.1", 0);
  ASSERT_TRUE(listener);
  wire::Address middle_address;
  middle_address.host = "127.0.0.1";
  middle_address.port = *bound_port(*listener);
  RelayNode middle(key, root.address, middle_address, *std::move(listener));
  middle.board.post(Level::kError, "said before there was a link", monotonic_now() - kSecond);
  auto relaying = std::async(std::launch::async, [&middle] { return middle.run(); });

  overlay::NoticeBoard board({wire::Role::kBackEnd, "leaf", 3});
  RuntimeOptions options;
  options.run = "run1";
  options.key = key;
  options.notices = &board;
  ScriptedNode leaf;
  leaf.start = [middle_address](overlay::Network& n) {
    n.connect({NodeId{1}, {middle_address}}, wire::Hello{});
  };
  leaf.up = [&board](overlay::Network& n, overlay::LinkId link, const overlay::Peer&) {
    n.set_upward(link);
    board.post(Level::kWarn, "said later", monotonic_now());
  };
  leaf.down = [](overlay::Network& n, overlay::LinkId, const Error&) { n.stop(0); };
  EXPECT_EQ(run_node(leaf, std::move(options)), 0);
  EXPECT_EQ(relaying.get(), 0);
  EXPECT_EQ(root.wait(), 0);
  EXPECT_EQ(heard["middle"].text, "said before there was a link");
  EXPECT_TRUE(heard["middle"].error);
  EXPECT_GE(heard["middle"].age_ns, kSecond);
  EXPECT_EQ(heard["leaf"].text, "said later");
  EXPECT_EQ(heard["leaf"].pid, 3u);
}

TEST(Runtime, SendsNoticesOfADeadParentToTheNextOne) {
  const Key key = make_key();
  std::optional<wire::Notice> died_with;
  ScriptedNode parent;
  parent.message = [&died_with](overlay::Network& n, overlay::LinkId, wire::Message message) {
    if (auto* notice = std::get_if<wire::Notice>(&message)) died_with = *notice;
    n.stop(0);
  };
  Root first(parent, key);
  std::optional<wire::Notice> heard;
  ScriptedNode next;
  next.message = [&heard](overlay::Network& n, overlay::LinkId, wire::Message message) {
    if (auto* notice = std::get_if<wire::Notice>(&message)) heard = *notice;
    n.stop(0);
  };
  Root second(next, key);

  overlay::NoticeBoard board({wire::Role::kBackEnd, "leaf", 3});
  board.post(Level::kWarn, "said once", monotonic_now());
  RuntimeOptions options;
  options.run = "run1";
  options.key = key;
  options.notices = &board;
  int downs = 0;
  ScriptedNode leaf;
  leaf.start = [&first](overlay::Network& n) {
    n.connect({NodeId{1}, {first.address}}, wire::Hello{});
  };
  leaf.up = [](overlay::Network& n, overlay::LinkId link, const overlay::Peer&) {
    n.set_upward(link);
    n.set_timer(monotonic_now() + 10 * kSecond);  // Who hears nothing hangs up.
  };
  leaf.timer = [](overlay::Network& n) { n.stop(1); };
  leaf.down = [&](overlay::Network& n, overlay::LinkId, const Error&) {
    if (++downs == 2) return n.stop(0);
    n.connect({NodeId{2}, {second.address}}, wire::Hello{});
  };
  ASSERT_EQ(run_node(leaf, std::move(options)), 0) << "the second parent heard nothing";
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0);
  ASSERT_TRUE(heard && died_with);
  EXPECT_EQ(heard->text, "said once");
  EXPECT_EQ(heard->number, died_with->number);
}

// ---- strangers ----

class Stranger {
 public:
  explicit Stranger(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  void say(const std::string& text) { ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL); }
  // True when the other side has hung up within the deadline.
  bool is_thrown_out() {
    const timeval patience{15, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char piece[256];
    ssize_t size;
    while ((size = ::recv(fd_.get(), piece, sizeof piece, 0)) > 0) {
    }
    return size == 0 || errno == ECONNRESET;
  }

 private:
  UniqueFd fd_;
};

class Strangers : public ::testing::Test {
 protected:
  Strangers() {
    set_log_sink([](Level, std::string_view) {});
    server_.up = [this](overlay::Network& n, overlay::LinkId, const overlay::Peer&) {
      refused_ = n.refused();
    };
    server_.down = [](overlay::Network& n, overlay::LinkId, const Error&) { n.stop(0); };
  }
  ~Strangers() override { set_log_sink({}); }

  // The root still takes a friend, and has counted so many refusals.
  void expect_service(Root& root, std::uint64_t refusals) {
    ScriptedNode friendly;
    friendly.up = [](overlay::Network& n, overlay::LinkId, const overlay::Peer&) { n.stop(0); };
    EXPECT_EQ(run_client(friendly, key_, root.address), 0);
    EXPECT_EQ(root.wait(), 0);
    EXPECT_EQ(refused_, refusals);
  }

  Key key_ = make_key();
  ScriptedNode server_;
  std::uint64_t refused_ = 0;
};

TEST_F(Strangers, WithGarbageAreThrownOutAndCounted) {
  Root root(server_, key_);
  const std::string garbage[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", std::string(64, '\xff'),
                                 std::string("\x7f\xff\xff\xff", 4), "SSH-2.0-OpenSSH_9.2\r\n",
                                 std::string("\x16\x03\x01\x02\x00", 5) + std::string(600, 'x')};
  for (const std::string& text : garbage) {
    Stranger stranger(root.address.port);
    stranger.say(text);
    EXPECT_TRUE(stranger.is_thrown_out());
  }
  expect_service(root, std::size(garbage));
}

TEST_F(Strangers, WhoSayNothingAreThrownOutInTime) {
  Root root(server_, key_, true, "", 200 * kMillisecond);
  Stranger silent(root.address.port);
  EXPECT_TRUE(silent.is_thrown_out());
  expect_service(root, 1);
}

TEST_F(Strangers, BeyondTheMostPushOutTheOldestAndAreCountedOnceAndToldInFewLines) {
  constexpr std::size_t kBeyond = 20;
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit before = files;
  files.rlim_cur = 4 * kMaxUnproved;  // Both ends are in this process.
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0) << "the hard limit is " << files.rlim_max;
  std::mutex mutex;
  std::vector<std::string> lines;
  set_log_sink([&](Level, std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  });
  Root root(server_, key_, true, "", 600 * kSecond);
  std::list<Stranger> silent;
  while (silent.size() < kMaxUnproved + kBeyond) silent.emplace_back(root.address.port);
  auto oldest = silent.begin();
  for (std::size_t i = 0; i < kBeyond; ++i) EXPECT_TRUE((oldest++)->is_thrown_out()) << i;
  expect_service(root, kBeyond + 1);  // The friend was one more.
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_LE(lines.size(), 5u);  // Two, where it took no longer than an interval.
  EXPECT_NE(lines[0].find("too many connections"), std::string::npos) << lines[0];
  std::size_t more = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto at = lines[i].find("more connections refused count=");
    ASSERT_NE(at, std::string::npos) << lines[i];
    more += std::stoul(lines[i].substr(lines[i].find('=') + 1));
  }
  EXPECT_EQ(more, kBeyond);
}

TEST_F(Strangers, AreNotAllocatedWhatTheyClaim) {
  Root root(server_, key_, /*tls=*/false);
  // A frame that says it is 4 GiB, one of 16 MiB (fine later, not before the proof), and one of 0.
  for (const char* prefix : {"\xff\xff\xff\xff", "\x00\x00\x00\x01", "\x00\x00\x00\x00"}) {
    Stranger stranger(root.address.port);
    stranger.say(std::string(prefix, 4));
    EXPECT_TRUE(stranger.is_thrown_out());
  }
  ScriptedNode friendly;
  friendly.up = [](overlay::Network& n, overlay::LinkId, const overlay::Peer&) { n.stop(0); };
  EXPECT_EQ(run_client(friendly, key_, root.address, false), 0);
  EXPECT_EQ(root.wait(), 0);
  EXPECT_EQ(refused_, 3u);
}

TEST(ListenTcp, SaysWhichPortIsInUse) {
  const auto first = listen_tcp("127.0.0.1", 0);
  ASSERT_TRUE(first);
  const std::uint16_t port = *bound_port(*first);
  const auto second = listen_tcp("127.0.0.1", port);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_NE(second.error().message.find(std::to_string(port)), std::string::npos);
}

TEST(ListenTcp, SaysWhichAddressIsNotOurs) {
  const auto foreign = listen_tcp("192.0.2.1", 0);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, Code::kInvalidArgument);
  const auto name = listen_tcp("localhost", 0);
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().code, Code::kInvalidArgument);
}

TEST(InterfaceAddresses, HasLoopbackLast) {
  const auto addresses = interface_addresses();
  ASSERT_FALSE(addresses.empty());
  EXPECT_TRUE(addresses.back().loopback);
}

TEST(ReachableAddresses, AreThoseThatTheSocketTakesAndLoopbackOnlyAlone) {
  const std::vector<InterfaceAddress> all = {{"e0", "10.1.0.1", false},
                                             {"e1", "10.2.0.1", false},
                                             {"e0", "fd00::1", false},
                                             {"lo", "127.0.0.1", true},
                                             {"lo", "::1", true}};
  using Hosts = std::vector<std::string>;
  EXPECT_EQ(reachable_addresses("0.0.0.0", all), (Hosts{"10.1.0.1", "10.2.0.1"}));
  EXPECT_EQ(reachable_addresses("::", all), (Hosts{"10.1.0.1", "10.2.0.1", "fd00::1"}));
  EXPECT_EQ(reachable_addresses("10.2.0.1", all), Hosts{"10.2.0.1"});
  EXPECT_EQ(reachable_addresses("0.0.0.0", {{"lo", "127.0.0.1", true}}), Hosts{"127.0.0.1"});
  EXPECT_EQ(reachable_addresses("0.0.0.0", {}), Hosts{"127.0.0.1"});
}

TEST(AnyAddress, IsOfBothFamiliesWhereThereIsIpv6BesideLoopback) {
  EXPECT_EQ(any_address({{"e0", "10.1.0.1", false}, {"e0", "fd00::1", false}}), "::");
  EXPECT_EQ(any_address({{"e0", "10.1.0.1", false}, {"lo", "::1", true}}), "0.0.0.0");
  EXPECT_EQ(any_address({}), "0.0.0.0");
}

TEST(ListenTcp, OnAnyAddressOfIpv6TakesBothFamilies) {
  auto listener = listen_tcp("::", 0);
  if (!listener) GTEST_SKIP() << "no IPv6 here";
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(*bound_port(*listener));
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const UniqueFd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(caller.get(), reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
}

TEST(AddressTowards, IsThisHostsOwnEndOfTheWay) {
  const auto own = address_towards("127.0.0.1");
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(*own, "127.0.0.1");
  const auto name = address_towards("node01");
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().code, Code::kInvalidArgument);
}

std::string listening_host_for(std::string_view front_end) {
  const auto addresses = parse_addresses(front_end);
  EXPECT_TRUE(addresses) << front_end;
  return listening_host(*addresses, {{"e0", "10.1.0.1", false}, {"lo", "127.0.0.1", true}});
}

TEST(ListeningHost, IsInTheNetworkOfTheFrontEnd) {
  EXPECT_EQ(listening_host_for("127.0.0.1:4711"), "127.0.0.1");
  EXPECT_EQ(listening_host_for("unix:/dev/shm/x/socket,127.0.0.1:4711"), "127.0.0.1");
  EXPECT_EQ(listening_host_for("10.1.0.1:4711,10.2.0.1:4711"), "0.0.0.0");
}

TEST(ListeningHost, IsLoopbackWithoutAHostOrARoute) {
  EXPECT_EQ(listening_host_for("unix:/dev/shm/x/socket"), "127.0.0.1");
  EXPECT_EQ(listening_host_for("255.255.255.255:4711"), "127.0.0.1");  // Needs SO_BROADCAST.
}

}  // namespace
}  // namespace xylem::net
