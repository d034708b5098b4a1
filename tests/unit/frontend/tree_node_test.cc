#include "frontend/tree_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

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
    options.gathering.expected = 2;
    return options;
  }

  overlay::LinkId join(const std::string& host) {
    overlay::Peer peer;
    peer.role = wire::Role::kBackEnd;
    peer.accepted = true;
    const overlay::LinkId link = network_.link_up(node_, peer);
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
  overlay::LinkId first_{};
  overlay::LinkId second_{};
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

// What is kept grows with the highest number of a leaf: with the last one there is no memory for
// it.
TEST_F(TreeNodeTest, DropsAndCountsPacketsOfLeavesThatNeverJoined) {
  const StreamId stream = open();
  wire::Packet strange = packet(stream, 0);
  for (const IntervalSet& sources : {IntervalSet(), IntervalSet::range(1, 4), IntervalSet::of(0),
                                     IntervalSet::range(0, raw(wire::kNoLeaf))}) {
    strange.id.sources = sources;
    for (const bool tombstone : {false, true}) {
      strange.tombstone = tombstone;
      network_.deliver(node_, first_, strange);
    }
  }
  EXPECT_EQ(node_.inbox(stream)->account().refused, 8u);
  EXPECT_EQ(node_.inbox(stream)->account().contributions, 0u);
  EXPECT_EQ(node_.inbox(stream)->account().lost, 0u);
  std::size_t told = 0;
  while (const auto event = node_.take_event()) told += event->kind == TreeEvent::Kind::kNotice;
  EXPECT_EQ(told, 1u);

  network_.deliver(node_, first_, packet(stream, 0));
  EXPECT_EQ(node_.inbox(stream)->account().contributions, 1u);
}

// A leaf that has found a new parent sends on before that one has told who is below it.
TEST_F(TreeNodeTest, TakesPacketsOfALeafThatHasJoinedFromWhateverLink) {
  const StreamId stream = open();
  network_.deliver(node_, second_, packet(stream, 0));
  EXPECT_EQ(node_.inbox(stream)->account().contributions, 1u);
}

TEST_F(TreeNodeTest, WaitsForNobodyWhoNeverJoined) {
  wire::StreamSpec spec;
  spec.name = "sum";
  spec.aggregation = "sum";
  const StreamId stream = *node_.open(spec);
  network_.deliver(node_, second_, wire::LeafSet{IntervalSet::range(0, 1000), {}});
  wire::Packet both = packet(stream, 0);
  both.id.sources = IntervalSet::range(1, 3);
  both.payload = wire::encode_waves(std::vector<wire::Fields>{{{1, std::int64_t{7}}}});
  network_.deliver(node_, first_, both);
  EXPECT_TRUE(node_.inbox(stream)->has_wave());
}

// One by one they would take several times that.
TEST_F(TreeNodeTest, LooksOnlyAtLeavesThatHaveJoinedWhenAChildTellsWhoHasEnded) {
  const IntervalSet all = IntervalSet::range(0, raw(wire::kNoLeaf));
  const Nanos begin = monotonic_now();
  network_.deliver(node_, second_, wire::LeafSet{all, all});
  EXPECT_LT(monotonic_now() - begin, 5 * kSecond);
  for (const LeafId leaf : {LeafId{1}, LeafId{2}}) {
    EXPECT_EQ(node_.overlay().find(leaf)->state, NodeState::kLeft);
  }
}

TEST_F(TreeNodeTest, HasAStreamOpenAtOnceWhereThereIsNobodyToAnswer) {
  network_.link_down(node_, first_);
  network_.link_down(node_, second_);
  EXPECT_TRUE(*node_.is_open(open()));

  TreeNode lonely(two_leaves());
  testing::FakeNetwork network;
  lonely.on_start(network, network.now);
  wire::StreamSpec spec;
  spec.name = "early";
  const StreamId stream = *lonely.open(spec);
  EXPECT_TRUE(*lonely.is_open(stream));
}

TEST_F(TreeNodeTest, HasAllOfNoLeavesBeforeTheFirst) {
  TreeNode lonely(two_leaves());
  testing::FakeNetwork network;
  lonely.on_start(network, network.now);
  EXPECT_TRUE(lonely.has_all(0));
  EXPECT_FALSE(lonely.has_all(1));
}

// A stream that nobody could use was never open.
TEST_F(TreeNodeTest, TellsNothingOfTheEndOfAStreamThatWasNeverOpen) {
  const auto told_closed = [this] {
    std::size_t told = 0;
    while (const auto event = node_.take_event()) told += event->kind == TreeEvent::Kind::kClosed;
    return told;
  };
  const StreamId stream = open();
  const std::uint64_t asked = version();
  node_.close(stream);
  EXPECT_EQ(told_closed(), 0u);

  const StreamId again = open();
  const std::uint64_t later = version();
  EXPECT_GT(later, asked);
  network_.deliver(node_, first_, wire::StreamsTaken{later});
  network_.deliver(node_, second_, wire::StreamsTaken{later});
  node_.close(again);
  node_.close(again);
  EXPECT_EQ(told_closed(), 1u);
}

// With two links of one host it is the older one that goes last.
TEST(TreeNodePlacing, StartsNothingByAHostWhoseLinksAreAllGone) {
  TreeNodeOptions options;
  options.root.shape = *tree::parse_shape("kary:2");
  options.gathering.expected = 6;
  TreeNode node(options);
  testing::FakeNetwork network;
  node.on_start(network, network.now);
  overlay::Peer peer;
  peer.role = wire::Role::kBackEnd;
  const auto join = [&](const std::string& host) {
    const overlay::LinkId link = network.link_up(node, peer);
    wire::HostReport report;
    report.name = report.host_key = host;
    network.deliver(node, link, report);
    return link;
  };
  std::vector<overlay::LinkId> older, newer;
  for (const std::string host : {"a", "b", "c", "d", "e"}) older.push_back(join(host));
  for (const std::string host : {"a", "b", "c", "d", "e"}) newer.push_back(join(host));
  for (const overlay::LinkId link : newer) network.link_down(node, link);
  for (const overlay::LinkId link : older) network.link_down(node, link);
  network.take_sent();
  join("f");

  const std::size_t asked = network.take_sent_of<wire::StartCommProcess>().size();
  std::size_t planned = 0, given_up = 0;
  for (const auto& [id, it] : node.overlay().nodes()) {
    if (it.role != wire::Role::kCommProcess) continue;
    ++planned;
    given_up += it.state == NodeState::kLost;
  }
  EXPECT_GT(planned, 1u);
  EXPECT_EQ(asked + given_up, planned) << "a host that is gone was asked";
}

// It has been told that nobody is below its link: what it says next makes its leaf new to it.
TEST_F(TreeNodeTest, SendsALeafItsShareAlsoWhenItTellsAnewWhoItIs) {
  wire::StreamSpec spec;
  spec.name = "parts";
  spec.narrowing = "scatter";
  spec.leaves = IntervalSet::range(1, 3);
  const StreamId stream = *node_.open(spec);
  const wire::Fields fields{{1, std::vector<std::int64_t>{1, 2, 3, 4}}};
  node_.multicast(*node_.next_multicast(stream, fields));
  const auto is_cut = [this] {
    const auto sent = network_.take_sent_of<wire::Multicast>();
    return !sent.empty() && std::all_of(sent.begin(), sent.end(), [](const auto& multicast) {
      return multicast.share == wire::MulticastShare::kPart;
    });
  };
  EXPECT_TRUE(is_cut());

  network_.deliver(node_, first_, wire::LeafSet{});
  network_.deliver(node_, first_, wire::LeafSet{IntervalSet::of(1), {}});
  EXPECT_TRUE(is_cut()) << "told anew";

  overlay::Peer peer = network_.links.at(first_);
  peer.node = node_.overlay().find(LeafId{1})->id;  // It does not say which leaf it is.
  network_.take_sent();
  network_.link_up(node_, peer);
  EXPECT_TRUE(is_cut()) << "come back";
}

}  // namespace
}  // namespace xylem::frontend
