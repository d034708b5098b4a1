#include <gtest/gtest.h>

#include <string>

#include "frontend/tree_node.h"
#include "tests/support/fake_network.h"
#include "wire/waves.h"

namespace xylem::frontend {
namespace {

/// A tool's front end with leaves 1 and 2 right below it, played by the test.
class TreeNodeTest : public ::testing::Test {
 protected:
  TreeNodeTest() : node_(two_leaves()) {
    node_.on_start(network_, network_.now);
    first_ = join("a");
    second_ = join("b");
    network_.take_sent();
  }

  static TreeNodeOptions two_leaves() {
    TreeNodeOptions options;
    options.root.shape = *tree::parse_shape("flat");
    options.expected = 2;
    return options;
  }

  net::LinkId join(const std::string& host) {
    net::Peer peer;
    peer.role = wire::Role::kBackEnd;
    peer.accepted = true;
    const net::LinkId link = network_.link_up(node_, peer);
    wire::HostReport report;
    report.name = host;
    report.host_key = host;
    network_.deliver(node_, link, report);
    return link;
  }

  StreamId open() {
    wire::StreamSpec spec;
    spec.name = "numbers";
    return *node_.open(spec);
  }

  std::uint64_t version() {
    const auto told = network_.take_sent_of<wire::Control>();
    return told.empty() ? 0 : told.back().version;
  }

  wire::Packet packet(StreamId stream, std::uint64_t wave, std::size_t bytes = 8) {
    wire::Packet packet;
    packet.id.stream = stream;
    packet.id.wave = wave;
    packet.id.wave_end = wave + 1;
    packet.id.sources = IntervalSet::of(1);
    packet.payload =
        wire::encode_waves(std::vector<wire::Fields>{{{1, std::vector<std::byte>(bytes)}}});
    return packet;
  }

  testing::FakeNetwork network_;
  TreeNode node_;
  net::LinkId first_{};
  net::LinkId second_{};
};

TEST_F(TreeNodeTest, HasAStreamOpenWhenAllLinksHaveAnswered) {
  const StreamId stream = open();
  const std::uint64_t asked = version();
  network_.deliver(node_, first_, wire::StreamsTaken{asked});
  EXPECT_FALSE(*node_.is_open(stream));
  network_.deliver(node_, second_, wire::StreamsTaken{asked});
  EXPECT_TRUE(*node_.is_open(stream));
}

// A leaf's first link stays until its place in the tree is known to be good.
TEST_F(TreeNodeTest, HasAStreamOpenWhenTheLastLinkThatHadNotAnsweredGoes) {
  const StreamId stream = open();
  network_.deliver(node_, first_, wire::StreamsTaken{version()});
  EXPECT_FALSE(*node_.is_open(stream));
  network_.link_down(node_, second_);
  EXPECT_TRUE(*node_.is_open(stream));
}

TEST_F(TreeNodeTest, AcknowledgesAFewPacketsTogetherAndSoon) {
  const StreamId stream = open();
  network_.take_sent();
  for (std::uint64_t wave = 0; wave < 3; ++wave) {
    network_.deliver(node_, first_, packet(stream, wave));
  }
  EXPECT_TRUE(network_.take_sent_of<wire::Acknowledgement>().empty());
  network_.advance(node_, Inbox::kPause);
  const auto told = network_.take_sent_of<wire::Acknowledgement>();
  ASSERT_EQ(told.size(), 1u);
  ASSERT_EQ(told[0].stored.size(), 1u);
  EXPECT_EQ(told[0].stored[0].wave_end, 3u);
}

TEST_F(TreeNodeTest, AcknowledgesMuchAtOnce) {
  const StreamId stream = open();
  network_.take_sent();
  network_.deliver(node_, first_, packet(stream, 0, Inbox::kShare));
  EXPECT_EQ(network_.take_sent_of<wire::Acknowledgement>().size(), 1u);
}

TEST_F(TreeNodeTest, AsksAtOnceForWhatItCouldNotTake) {
  const StreamId stream = open();
  network_.deliver(node_, first_, packet(stream, 0));
  wire::Packet mixed = packet(stream, 0);
  mixed.id.sources = IntervalSet::range(1, 3);
  network_.take_sent();
  network_.deliver(node_, second_, mixed);
  const auto told = network_.take_sent_of<wire::Acknowledgement>();
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back().resend.size(), 1u);
}

}  // namespace
}  // namespace xylem::frontend
