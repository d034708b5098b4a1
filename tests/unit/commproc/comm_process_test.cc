#include "commproc/comm_process.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "tests/support/fake_network.h"
#include "wire/profile.h"

namespace xylem::commproc {
namespace {

wire::Packet window_of(std::uint32_t leaf, std::uint64_t wave) {
  wire::ProfileWindow window;
  wire::PacketId id{wire::kWindowStream, kLeafLane, wave, wave + 1, IntervalSet::of(leaf)};
  return wire::Packet(std::move(id), wire::encode(window));
}

wire::Packet chunk_of(std::uint32_t leaf) {
  wire::PacketId id{wire::kChunkStream, Lane{1}, 0, 10, IntervalSet::of(leaf)};
  return wire::Packet(std::move(id), wire::Bytes(100, std::byte{7}));
}

// A communication process at level 1 below the front end, with back ends of leaves 1 and 2.
class CommProcessTest : public ::testing::Test {
 protected:
  CommProcessTest() : node_(options()) {
    set_log_sink([](Level, std::string_view) {});
    node_.on_start(network_, network_.now);
    front_end_ = network_.link_up(node_);
    wire::Assignment place;
    place.node = NodeId{9};
    place.level = 1;
    place.parents = {{kFrontEndNode, {}}};
    network_.deliver(node_, front_end_, place);
    left_ = child(1);
    right_ = child(2);
    network_.take_sent();
  }
  ~CommProcessTest() override { set_log_sink({}); }

  static CommProcessOptions options() {
    CommProcessOptions options;
    options.node = NodeId{9};
    options.level = 1;
    options.windows.time_out = 150 * kMillisecond;
    return options;
  }

  overlay::LinkId child(std::uint32_t leaf, std::uint32_t level = 2) {
    overlay::Peer peer;
    peer.accepted = true;
    peer.role = wire::Role::kBackEnd;
    peer.node = NodeId{100 + leaf};
    peer.leaf = LeafId{leaf};
    peer.level = level;
    return network_.link_up(node_, peer);
  }

  void finish() {
    wire::Control control;
    control.version = 2;
    control.finish = true;
    network_.deliver(node_, front_end_, control);
  }

  xylem::testing::FakeNetwork network_;
  CommProcess node_;
  overlay::LinkId front_end_{};
  overlay::LinkId left_{};
  overlay::LinkId right_{};
};

TEST_F(CommProcessTest, MergesTheWindowsOfItsLeavesIntoOnePacket) {
  network_.deliver(node_, left_, window_of(1, 5));
  EXPECT_TRUE(network_.take_sent_of<wire::Packet>().empty());
  network_.deliver(node_, right_, window_of(2, 5));
  const auto sent = network_.take_sent_of<wire::Packet>();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].id.sources, IntervalSet::range(1, 3));
}

TEST_F(CommProcessTest, WaitsForAWaveOnlySoLong) {
  network_.deliver(node_, left_, window_of(1, 5));
  network_.advance(node_, 149 * kMillisecond);
  EXPECT_TRUE(network_.take_sent_of<wire::Packet>().empty());
  network_.advance(node_, 2 * kMillisecond);
  EXPECT_EQ(network_.take_sent_of<wire::Packet>().size(), 1u);
}

TEST_F(CommProcessTest, NoLongerWaitsForALeafThatIsGone) {
  network_.deliver(node_, left_, window_of(1, 5));
  network_.link_down(node_, right_);
  EXPECT_EQ(network_.take_sent_of<wire::Packet>().size(), 1u);
}

TEST_F(CommProcessTest, PassesChunksOnUnopened) {
  const wire::Packet chunk = chunk_of(1);
  network_.deliver(node_, left_, chunk);
  const auto sent = network_.take_sent_of<wire::Packet>();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].payload, chunk.payload);
  EXPECT_EQ(sent[0].id, chunk.id);
}

TEST_F(CommProcessTest, PassesAcknowledgementsToThoseConcerned) {
  wire::Acknowledgement ack;
  ack.stored.push_back(window_of(2, 5).id);
  network_.deliver(node_, front_end_, ack);
  const auto sent = network_.take_sent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].link, right_);
}

TEST_F(CommProcessTest, GivesControlToChildrenNowAndLater) {
  wire::Control control;
  control.version = 3;
  network_.deliver(node_, front_end_, control);
  EXPECT_EQ(network_.take_sent_of<wire::Control>().size(), 2u);
  child(3);
  const auto late = network_.take_sent_of<wire::Control>();
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].version, 3u);
  control.version = 2;
  network_.deliver(node_, front_end_, control);
  EXPECT_TRUE(network_.take_sent_of<wire::Control>().empty()) << "old control is no news";
}

TEST_F(CommProcessTest, TakesNoChildOfItsOwnLevelOrAbove) {
  const overlay::LinkId link = child(3, 1);
  EXPECT_FALSE(network_.links.contains(link));
}

TEST_F(CommProcessTest, AsksItsSubtreeToResendWhenItHasANewParent) {
  wire::Assignment line;
  line.node = NodeId{9};
  line.level = 2;
  line.parents = {{NodeId{7}, {}}, {kFrontEndNode, {}}};
  network_.deliver(node_, front_end_, line);
  const overlay::LinkId parent = network_.link_up(node_);
  network_.take_sent();
  network_.link_down(node_, parent);
  network_.advance(node_, kSecond);
  ASSERT_FALSE(network_.connects.empty());
  EXPECT_EQ(network_.connects.front().parent.node, kFrontEndNode) << "the next of the line";
  network_.link_up(node_);
  const auto requests = network_.take_sent_of<wire::Acknowledgement>();
  ASSERT_EQ(requests.size(), 2u) << "one to each child";
  for (const auto& request : requests) {
    ASSERT_EQ(request.resend.size(), 1u);
    EXPECT_EQ(request.resend[0].stream, wire::kEveryStream);
  }
}

TEST_F(CommProcessTest, KeepsWhatIsToldOnceUntilItHasAParent) {
  network_.link_down(node_, front_end_);
  network_.deliver(node_, left_, wire::Attached{NodeId{101}, NodeId{9}});
  network_.deliver(node_, left_, wire::StreamRefused{StreamId{16}, NodeId{101}, "n1", "no file"});
  EXPECT_TRUE(network_.take_sent_of<wire::Attached>().empty());
  network_.advance(node_, 10 * kSecond);
  network_.link_up(node_);
  std::vector<std::string> told;
  for (const auto& sent : network_.take_sent()) {
    const auto* attached = std::get_if<wire::Attached>(&sent.message);
    if (attached && attached->node == NodeId{101}) told.emplace_back("attached");
    if (std::holds_alternative<wire::StreamRefused>(sent.message)) told.emplace_back("refused");
  }
  EXPECT_EQ(told, (std::vector<std::string>{"attached", "refused"}));
}

TEST_F(CommProcessTest, EndsWhenTheRunIsOverAndItsChildrenHaveLeft) {
  finish();
  EXPECT_FALSE(network_.stopped);
  network_.deliver(node_, left_, wire::Goodbye{"done"});
  network_.link_down(node_, left_);
  EXPECT_FALSE(network_.stopped);
  network_.deliver(node_, right_, window_of(2, 8));
  network_.deliver(node_, right_, wire::Goodbye{"done"});
  network_.take_sent();
  network_.link_down(node_, right_);
  EXPECT_EQ(network_.stopped, 0);
  std::vector<std::string> told;
  for (const auto& sent : network_.take_sent()) {
    if (std::holds_alternative<wire::LinkReport>(sent.message)) told.emplace_back("link");
    if (std::holds_alternative<wire::Goodbye>(sent.message)) told.emplace_back("goodbye");
  }
  EXPECT_EQ(told, (std::vector<std::string>{"link", "goodbye"}))
      << "the last counts reach the store";
}

TEST_F(CommProcessTest, TellsItsParentWhichLeavesHaveEnded) {
  network_.deliver(node_, left_, wire::Goodbye{"done"});
  const auto told = network_.take_sent_of<wire::LeafSet>();
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back().ended, IntervalSet::of(1));
  EXPECT_EQ(told.back().leaves, IntervalSet::range(1, 3));
}

TEST_F(CommProcessTest, GivesUpAfterAMinuteWithoutAParent) {
  network_.link_down(node_, front_end_);
  for (int second = 0; second < 70 && !network_.stopped; ++second) {
    while (!network_.connects.empty()) network_.refuse_connect(node_);
    network_.advance(node_, kSecond);
  }
  EXPECT_EQ(network_.stopped, 1);
}

TEST_F(CommProcessTest, KeepsTryingItsLineOfParents) {
  network_.link_down(node_, front_end_);
  int tries = 0;
  for (int step = 0; step < 100 && tries < 5; ++step) {
    network_.advance(node_, 100 * kMillisecond);
    while (!network_.connects.empty()) {
      ++tries;
      network_.refuse_connect(node_);
    }
  }
  EXPECT_EQ(tries, 5);
}

}  // namespace
}  // namespace xylem::commproc
