#include "overlay/uplink.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "tests/support/fake_network.h"

namespace xylem::overlay {
namespace {

using Change = Uplink::Change;
using Former = Uplink::Former;

constexpr NodeId kSelf{9};

/// A Node that is nothing but an uplink.
class Climber final : public Node {
 public:
  Climber() : uplink({.front_end = {}, .hello = [] { return hello(); }}) {}
  static wire::Hello hello() {
    wire::Hello hello;
    hello.node = kSelf;
    return hello;
  }
  void on_start(Network& network, Nanos now) override {
    uplink.start(network, now);
    last = uplink.connect();
  }
  void on_link_up(LinkId link, const Peer&, Nanos) override { last = uplink.on_link_up(link); }
  void on_connect_failed(NodeId, const Error& why, Nanos now) override {
    last = uplink.on_connect_failed(why, now);
  }
  void on_message(LinkId, wire::Message message, Nanos) override {
    last = uplink.assign(std::get<wire::Assignment>(message));
  }
  void on_link_down(LinkId link, const Error& why, Nanos now) override {
    if (const Change change = uplink.on_link_down(link, why, now); change != Change::kNone) {
      last = change;
    }
  }
  void on_timer(Nanos now) override { last = uplink.on_timer(now); }
  void on_readable(int, Nanos) override {}

  Uplink uplink;
  Change last = Change::kNone;
};

class UplinkTest : public ::testing::Test {
 protected:
  UplinkTest() {
    set_log_sink([](Level, std::string_view) {});
    node_.on_start(network_, network_.now);
  }
  ~UplinkTest() override { set_log_sink({}); }

  /// Assigned to nodes in this order.
  void assign(std::initializer_list<std::uint32_t> line) {
    wire::Assignment assignment;
    assignment.node = kSelf;
    for (const std::uint32_t node : line) assignment.parents.push_back({NodeId{node}, {}});
    network_.deliver(node_, *node_.uplink.link(), assignment);
  }
  NodeId asked() const { return network_.connects.front().parent.node; }
  void wait_for_attempt() {
    for (int step = 0; step < 100 && network_.connects.empty(); ++step) {
      network_.now += 50 * kMillisecond;
      if (const Nanos due = node_.uplink.next_due(); due != 0) node_.on_timer(network_.now);
    }
    ASSERT_FALSE(network_.connects.empty());
  }

  xylem::testing::FakeNetwork network_;
  Climber node_;
};

TEST_F(UplinkTest, ReportsToTheFrontEndUntilItHasAPlace) {
  EXPECT_EQ(asked(), kFrontEndNode);
  network_.link_up(node_);
  EXPECT_EQ(node_.last, Change::kReporting);
  EXPECT_FALSE(node_.uplink.parent());
  assign({0});
  EXPECT_EQ(node_.last, Change::kAdopted) << "the link to report is the link to the parent";
  EXPECT_EQ(node_.uplink.former(), Former::kNone);
  EXPECT_TRUE(network_.connects.empty());
}

TEST_F(UplinkTest, KeepsItsParentUntilTheNewOneAnswers) {
  network_.link_up(node_);
  assign({3, 0});
  const LinkId old = network_.link_up(node_);
  assign({4, 0});
  EXPECT_EQ(node_.uplink.parent(), old);
  const LinkId fresh = network_.link_up(node_);
  EXPECT_EQ(node_.last, Change::kAdopted);
  EXPECT_EQ(node_.uplink.former(), Former::kMoved);
  EXPECT_EQ(node_.uplink.parent(), fresh);
  EXPECT_FALSE(network_.links.contains(old));
}

TEST_F(UplinkTest, StaysWhenTheNewOneDoesNotAnswer) {
  network_.link_up(node_);
  assign({3, 0});
  network_.link_up(node_);
  assign({4, 3, 0});
  network_.refuse_connect(node_);
  EXPECT_EQ(node_.uplink.next_due(), 0);
  EXPECT_EQ(node_.uplink.parent_node(), NodeId{3});
}

TEST_F(UplinkTest, TriesTheLineRoundAndRoundAfterALoss) {
  network_.link_up(node_);
  assign({3, 4, 0});
  const LinkId parent = network_.link_up(node_);
  network_.link_down(node_, parent);
  EXPECT_EQ(node_.last, Change::kLost);
  for (const std::uint32_t next : {4u, 0u, 3u, 4u}) {
    wait_for_attempt();
    EXPECT_EQ(asked(), NodeId{next});
    network_.refuse_connect(node_);
  }
  wait_for_attempt();
  network_.link_up(node_);
  EXPECT_EQ(node_.uplink.parent_node(), kFrontEndNode);
  EXPECT_EQ(node_.uplink.former(), Former::kLost);
}

TEST_F(UplinkTest, PausesWhenTheWholeLineWasTriedAndNotBefore) {
  network_.link_up(node_);
  assign({3, 4, 0});
  network_.link_down(node_, network_.link_up(node_));
  for (const std::uint32_t next : {4u, 0u, 3u}) {
    ASSERT_EQ(network_.connects.size(), 1u);
    EXPECT_EQ(asked(), NodeId{next});
    network_.refuse_connect(node_);
  }
  EXPECT_TRUE(network_.connects.empty());
  EXPECT_GT(node_.uplink.next_due(), network_.now);
}

TEST_F(UplinkTest, ConnectsToAnotherAtOnceAndToTheSameAfterAPause) {
  network_.link_up(node_);
  assign({3, 0});
  network_.link_down(node_, network_.link_up(node_));
  EXPECT_EQ(network_.connects.size(), 1u);
  EXPECT_EQ(asked(), kFrontEndNode);
  network_.link_up(node_);
  assign({0});
  network_.link_down(node_, *node_.uplink.link());
  EXPECT_TRUE(network_.connects.empty());
  EXPECT_GT(node_.uplink.next_due(), network_.now);
}

TEST_F(UplinkTest, PrefersThePlaceThatWasNamedWhileItWasConnecting) {
  network_.link_up(node_);
  assign({3, 0});
  assign({4, 0});
  network_.link_up(node_);
  EXPECT_FALSE(node_.uplink.parent());
  EXPECT_EQ(asked(), NodeId{4});
  network_.link_up(node_);
  EXPECT_EQ(node_.uplink.parent_node(), NodeId{4});
}

TEST_F(UplinkTest, CountsHowLongItIsAnOrphan) {
  EXPECT_EQ(node_.uplink.orphan_for(network_.now + kSecond), kSecond);
  const LinkId link = network_.link_up(node_);
  EXPECT_EQ(node_.uplink.orphan_for(network_.now + kSecond), 0);
  network_.now += 5 * kSecond;
  network_.link_down(node_, link);
  EXPECT_EQ(node_.uplink.orphan_for(network_.now + kSecond), kSecond);
}

TEST_F(UplinkTest, ConnectsToNobodyAfterItsEnd) {
  node_.uplink.stop();
  const LinkId late = network_.link_up(node_);
  EXPECT_FALSE(network_.links.contains(late));
  EXPECT_FALSE(node_.uplink.link());
}

}  // namespace
}  // namespace xylem::overlay
