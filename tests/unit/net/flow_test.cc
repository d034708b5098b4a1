// Credits over real sockets: a sender, a node that passes on, and a receiver that stands still.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "net/runtime.h"
#include "overlay/credits.h"
#include "tests/support/scripted_node.h"

namespace xylem::net {
namespace {

using testing::Root;
using testing::ScriptedNode;

constexpr std::size_t kPayload = 64u << 10;
constexpr std::uint64_t kPackets = 512;
// What a frame is longer than its payload, and some control beside the data.
constexpr std::size_t kSlack = 2 * kPayload;

wire::Packet numbered_packet(std::uint64_t number) {
  wire::Packet packet;
  packet.id.stream = wire::kChunkStream;
  packet.id.wave = number;
  packet.id.wave_end = number + 1;
  packet.id.sources = IntervalSet::of(4);
  packet.payload.assign(kPayload, std::byte(number));
  return packet;
}

wire::Multicast numbered_multicast(std::uint64_t number) {
  wire::Multicast multicast;
  multicast.stream = wire::kFirstToolStream;
  multicast.number = number;
  multicast.payload.assign(kPayload, std::byte(number));
  return multicast;
}

std::optional<std::uint64_t> number_of(const wire::Message& message) {
  if (const auto* packet = std::get_if<wire::Packet>(&message)) return packet->id.wave;
  if (const auto* multicast = std::get_if<wire::Multicast>(&message)) return multicast->number;
  return std::nullopt;
}

// A gate, closed at first: threads that pass() block until another thread calls open().
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

// A loop of its own thread, which connects upwards and may listen.
class Middle {
 public:
  Middle(ScriptedNode& node, const Key& key, const wire::Address& parent) : node_(node) {
    RuntimeOptions options;
    options.run = "run1";
    options.key = key;
    options.tls = false;
    auto socket = listen_tcp("127.0.0.1", 0);
    EXPECT_TRUE(socket) << socket.error().message;
    address.host = "127.0.0.1";
    address.port = *bound_port(*socket);
    options.listening.push_back(*std::move(socket));
    node_.start = [parent](overlay::Network& network) {
      wire::Hello hello;
      hello.role = wire::Role::kCommProcess;
      hello.level = 1;
      network.connect({kFrontEndNode, {parent}}, hello);
    };
    done_ = std::async(std::launch::async, [this, moved = std::move(options)]() mutable {
      return run_node(node_, std::move(moved));
    });
  }
  int wait() { return done_.get(); }

  wire::Address address;

 private:
  ScriptedNode& node_;
  std::future<int> done_;
};

// A root above a middle node above a leaf. Each notes its links; `max_queued` is what ever waited
// in the middle on the link that data leaves by.
class Flow : public ::testing::Test {
 protected:
  Flow() {
    root_.up = [this](overlay::Network& n, overlay::LinkId l, const overlay::Peer&) {
      root_link_ = l;
      if (root_sends_) send_all(n, l);
    };
    middle_.up = [this](overlay::Network& n, overlay::LinkId l, const overlay::Peer& peer) {
      (peer.accepted ? below_ : above_) = l;
      if (!peer.accepted) n.set_upward(l);
      if (!peer.accepted) middle_is_up_.open();
    };
    middle_.message = [this](overlay::Network& n, overlay::LinkId from, wire::Message message) {
      const bool is_data = overlay::is_data(message);
      if (!is_data) ++others_in_the_middle_;
      if (is_data && in_the_middle_++ == 0) first_arrived_.open();
      const std::optional<overlay::LinkId> to = from == above_ ? below_ : above_;
      if (!to) return;
      n.send(*to, std::move(message));
      max_queued_ = std::max(max_queued_.load(), n.status(*to).queue_bytes);
    };
    leaf_.up = [this](overlay::Network& n, overlay::LinkId l, const overlay::Peer&) {
      n.set_upward(l);
      if (!root_sends_) send_all(n, l);
    };
  }

  void send_all(overlay::Network& n, overlay::LinkId link) {
    for (std::uint64_t number = 1; number <= kPackets; ++number) {
      if (root_sends_) {
        n.send(link, numbered_multicast(number));
      } else {
        n.send(link, numbered_packet(number));
      }
    }
    n.send(link, wire::Attached{});  // What is no data comes first.
  }

  // At the end of the way: waits at the gate, then expects everything, in order.
  void expect_all(overlay::Network& n, const wire::Message& message) {
    const auto number = number_of(message);
    if (!number) return;
    gate_.pass();
    ASSERT_EQ(*number, ++arrived_);
    if (arrived_ == kPackets) n.stop(0);
  }

  // Runs all three until the data has arrived; opens the gate when the middle stands still.
  void run(std::size_t bound) {
    const Key key = make_key();
    Root root(root_, key, false);
    Middle middle(middle_, key, root.address);
    middle_is_up_.pass();
    std::thread leaf([&] { EXPECT_EQ(testing::run_client(leaf_, key, middle.address, false), 0); });
    first_arrived_.pass();
    std::uint64_t before = 0;
    Nanos still_since = monotonic_now();
    while (monotonic_now() - still_since < 300 * kMillisecond) {
      const std::uint64_t now = in_the_middle_;
      if (std::exchange(before, now) != now) still_since = monotonic_now();
      std::this_thread::yield();
    }
    EXPECT_LT(before, kPackets) << "the way was never full";
    EXPECT_GE(others_in_the_middle_, 1u) << "what is no data waited for credit";
    EXPECT_LE(max_queued_, bound);
    gate_.open();
    EXPECT_EQ(root.wait(), 0);
    EXPECT_EQ(middle.wait(), 0);
    leaf.join();
    EXPECT_EQ(arrived_, kPackets);
    EXPECT_LE(max_queued_, bound);
  }

  ScriptedNode root_, middle_, leaf_;
  bool root_sends_ = false;
  std::optional<overlay::LinkId> root_link_;
  std::optional<overlay::LinkId> above_, below_;  // Of the middle's thread.
  Gate gate_, first_arrived_, middle_is_up_;
  std::atomic<std::size_t> max_queued_ = 0;
  std::atomic<std::uint64_t> in_the_middle_ = 0;
  std::atomic<std::uint64_t> others_in_the_middle_ = 0;
  std::uint64_t arrived_ = 0;
};

TEST_F(Flow, UpwardsStopsAtTheLeafWhenTheRootStandsStill) {
  root_.message = [this](overlay::Network& n, overlay::LinkId, wire::Message m) {
    expect_all(n, m);
  };
  middle_.down = [this](overlay::Network& n, overlay::LinkId l, const Error&) {
    if (l == above_) n.stop(0);
  };
  leaf_.down = [](overlay::Network& n, overlay::LinkId, const Error&) { n.stop(0); };
  run(kUpwardHighWater + overlay::kCreditWindow + kSlack);
}

TEST_F(Flow, DownwardsStopsAtTheRootWhenALeafStandsStill) {
  root_sends_ = true;
  leaf_.message = [this](overlay::Network& n, overlay::LinkId, wire::Message m) {
    expect_all(n, m);
  };
  middle_.down = [this](overlay::Network& n, overlay::LinkId l, const Error&) {
    if (l == below_) n.stop(0);
  };
  root_.down = [](overlay::Network& n, overlay::LinkId, const Error&) { n.stop(0); };
  // The root sends when the middle comes, so that the leaf has to be there first.
  root_.up = [this](overlay::Network&, overlay::LinkId l, const overlay::Peer&) { root_link_ = l; };
  root_.message = [this](overlay::Network& n, overlay::LinkId l, wire::Message) { send_all(n, l); };
  middle_.up = [this, inner = middle_.up](overlay::Network& n, overlay::LinkId l,
                                          const overlay::Peer& peer) {
    inner(n, l, peer);
    if (peer.accepted) n.send(*above_, wire::LeafSet{IntervalSet::of(4), {}});
  };
  run(kDownwardHighWater + overlay::kCreditWindow + kSlack);
}

}  // namespace
}  // namespace xylem::net
