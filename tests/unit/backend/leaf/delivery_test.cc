#include "backend/leaf/delivery.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "tests/support/fake_network.h"
#include "tests/support/hand_made_segment.h"

namespace xylem::backend {
namespace {

constexpr LeafId kDeliveringLeaf{5};
constexpr std::size_t kDeliveredAtOnce = 1000;  // Bytes.

/// A leaf whose packets the test writes.
class Leaf final : public overlay::Node {
 public:
  explicit Leaf(Journal& journal) : journal_(journal), delivery(options(), journal) {}

  static DeliveryOptions options() {
    DeliveryOptions options;
    options.host_key = "folder:1";
    options.report = [] { return wire::HostReport{}; };
    options.outbox.max_in_flight = kDeliveredAtOnce;
    return options;
  }
  void write(std::uint64_t wave, bool last = false, std::size_t bytes = 0) {
    Draft draft;
    draft.packet.id = id(wave);
    draft.packet.payload.resize(bytes);
    draft.packet.last = last;
    ASSERT_TRUE(journal_.append(draft));
    delivery.add(key_of(draft.packet.id));
  }
  static wire::PacketId id(std::uint64_t wave) {
    return {wire::kWindowStream, kLeafLane, wave, wave + 1, IntervalSet::of(raw(kDeliveringLeaf))};
  }

  void on_start(overlay::Network& network, Nanos now) override {
    delivery.start(network, now);
    delivery.connect(now);
  }
  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) override {
    delivery.on_link_up(link, peer, now);
  }
  void on_connect_failed(NodeId, const Error& why, Nanos now) override {
    delivery.on_connect_failed(why, now);
  }
  void on_message(overlay::LinkId, wire::Message message, Nanos now) override {
    news = delivery.on_message(message, now);
  }
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now) override {
    delivery.on_link_down(link, why, now);
  }
  void on_timer(Nanos now) override { delivery.on_timer(now); }
  void on_readable(int, Nanos) override {}

 private:
  Journal& journal_;

 public:
  Delivery delivery;
  Delivery::News news = Delivery::News::kNothing;
};

class DeliveryTest : public ::testing::Test {
 protected:
  DeliveryTest() : memory_(1 << 20), journal_(*Journal::open(memory_.bytes())), leaf_(journal_) {
    set_log_sink([](Level, std::string_view) {});
    leaf_.on_start(network_, network_.now);
    link_ = network_.link_up(leaf_);
    deliver(wire::Control{});
    wire::Assignment assignment;
    assignment.node = NodeId{2};
    assignment.leaf = kDeliveringLeaf;
    assignment.level = 1;
    deliver(assignment);
    network_.take_sent();
  }
  ~DeliveryTest() override { set_log_sink({}); }

  void deliver(const wire::Message& message) { network_.deliver(leaf_, link_, message); }
  void acknowledge(std::uint64_t wave) {
    wire::Acknowledgement acknowledgement;
    acknowledgement.stored.push_back(Leaf::id(wave));
    deliver(acknowledgement);
  }
  std::vector<std::uint64_t> waves_sent() {
    leaf_.delivery.send_due(network_.now);
    std::vector<std::uint64_t> waves;
    for (const auto& packet : network_.take_sent_of<wire::Packet>())
      waves.push_back(packet.id.wave);
    return waves;
  }

  xylem::testing::FakeNetwork network_;
  xylem::testing::Memory memory_;
  Journal journal_;
  Leaf leaf_;
  overlay::LinkId link_{};
};

using Waves = std::vector<std::uint64_t>;

TEST_F(DeliveryTest, SendsItsLastPacketWhenAllOthersAreAcknowledged) {
  leaf_.write(1);
  leaf_.write(2);
  leaf_.write(3, true);
  EXPECT_EQ(waves_sent(), (Waves{1, 2}));
  acknowledge(2);
  EXPECT_EQ(waves_sent(), Waves{});
  acknowledge(1);
  EXPECT_EQ(waves_sent(), Waves{3});
  EXPECT_FALSE(leaf_.delivery.is_done());
  acknowledge(3);
  EXPECT_TRUE(leaf_.delivery.is_done());
}

TEST_F(DeliveryTest, HoldsPacketsBackWhileEnoughBytesAreUnderWay) {
  for (const std::uint64_t wave : {1, 2, 3, 4}) leaf_.write(wave, false, kDeliveredAtOnce / 2);
  EXPECT_EQ(waves_sent(), (Waves{1, 2}));
  EXPECT_EQ(waves_sent(), Waves{});
  acknowledge(1);
  EXPECT_EQ(waves_sent(), Waves{3});
  acknowledge(2);
  acknowledge(3);
  EXPECT_EQ(waves_sent(), Waves{4});
}

TEST_F(DeliveryTest, ASuccessorHoldsTheLastPacketBackToo) {
  leaf_.write(1);
  leaf_.write(2, true);
  Leaf successor(journal_);
  network_.forget_node();
  successor.on_start(network_, network_.now);
  wire::Assignment assignment;
  assignment.leaf = kDeliveringLeaf;
  network_.deliver(successor, network_.link_up(successor), assignment);
  const auto sent = network_.take_sent_of<wire::Packet>();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].id.wave, 1u);
  EXPECT_TRUE(sent[0].alone) << "its predecessor may have sent it";
}

TEST_F(DeliveryTest, ReconnectsAsTheSameLeaf) {
  network_.link_down(leaf_, link_);
  leaf_.on_timer(network_.now + kSecond);
  ASSERT_EQ(network_.connects.size(), 1u);
  EXPECT_EQ(network_.connects[0].hello.leaf, kDeliveringLeaf);
  EXPECT_EQ(network_.connects[0].hello.host_key, "folder:1");
}

TEST_F(DeliveryTest, LeavesOtherMessagesToItsOwner) {
  deliver(wire::StartCommProcess{NodeId{7}, 1});
  EXPECT_EQ(leaf_.news, Delivery::News::kNotOurs);
}

}  // namespace
}  // namespace xylem::backend
