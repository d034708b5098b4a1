// What a communication process sends down: whole to its like, to each leaf its share, now and to
// children that come later.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "commproc/comm_process.h"
#include "tests/support/fake_network.h"
#include "wire/waves.h"

namespace xylem::commproc {
namespace {

using wire::MulticastShare;

constexpr StreamId kWork{107}, kListed{108}, kBroken{109};

// At level 1 below the front end, with leaves 1 and 2 and a communication process for children.
// Stream "work" scatters, "listed" is of leaves 2 and 7, and "broken" cannot be narrowed here.
class CommProcessMulticastTest : public ::testing::Test {
 protected:
  CommProcessMulticastTest() : node_(options()) {
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
    below_ = comm_process();
    network_.deliver(node_, front_end_, control());
  }
  ~CommProcessMulticastTest() override { set_log_sink({}); }

  static CommProcessOptions options() {
    CommProcessOptions options;
    options.node = NodeId{9};
    options.level = 1;
    options.host = "n9";
    return options;
  }

  static wire::Control control() {
    wire::Control control;
    control.version = 2;
    control.streams.resize(3);
    control.streams[0].id = kWork;
    control.streams[0].name = "work";
    control.streams[0].narrowing = "scatter";
    control.streams[1].id = kListed;
    control.streams[1].name = "listed";
    control.streams[1].leaves = listed();
    control.streams[2].id = kBroken;
    control.streams[2].name = "broken";
    control.streams[2].narrowing = "unheard of";
    return control;
  }

  static IntervalSet listed() {
    IntervalSet leaves = IntervalSet::of(2);
    leaves.insert(7);
    return leaves;
  }

  overlay::LinkId child(std::uint32_t leaf) {
    overlay::Peer peer;
    peer.accepted = true;
    peer.role = wire::Role::kBackEnd;
    peer.node = NodeId{100 + leaf};
    peer.leaf = LeafId{leaf};
    peer.level = 2;
    return network_.link_up(node_, peer);
  }

  overlay::LinkId comm_process() {
    overlay::Peer peer;
    peer.accepted = true;
    peer.role = wire::Role::kCommProcess;
    peer.node = NodeId{50};
    peer.level = 2;
    return network_.link_up(node_, peer);
  }

  static wire::Multicast work(std::uint64_t number) {
    const wire::Fields items{{1, std::vector<std::int64_t>{10, 20, 30, 40}}};
    return {kWork, number, {}, wire::encode_fields(items), IntervalSet::range(1, 5)};
  }

  // What went to a link since the last call, as numbers of multicasts and what was in them.
  std::string sent_to(overlay::LinkId link) {
    sort();
    std::string told;
    for (const wire::Multicast& down : std::exchange(down_[link], {})) {
      told += (told.empty() ? "" : " ") + std::to_string(down.number) + share_of(down);
    }
    return told;
  }
  std::vector<wire::StreamRefused> take_refusals() {
    sort();
    return std::exchange(refusals_, {});
  }
  void sort() {
    for (auto& [link, message] : network_.take_sent()) {
      if (auto* down = std::get_if<wire::Multicast>(&message)) down_[link].push_back(*down);
      if (auto* refused = std::get_if<wire::StreamRefused>(&message)) refusals_.push_back(*refused);
    }
  }
  static std::string share_of(const wire::Multicast& down) {
    if (down.share == MulticastShare::kWhole) return " whole";
    if (down.share == MulticastShare::kNothing) return " nothing";
    if (down.share == MulticastShare::kFailed) return " failed";
    const auto fields = wire::decode_fields(down.payload);
    const auto* items = fields ? fields->find_as<std::vector<std::int64_t>>(1) : nullptr;
    std::string told = ":";
    if (items == nullptr) return " of other fields";
    for (const std::int64_t item : *items) told += " " + std::to_string(item);
    return told;
  }

  xylem::testing::FakeNetwork network_;
  CommProcess node_;
  overlay::LinkId front_end_{}, left_{}, right_{}, below_{};
  std::map<overlay::LinkId, std::vector<wire::Multicast>> down_;
  std::vector<wire::StreamRefused> refusals_;
};

TEST_F(CommProcessMulticastTest, GivesEachLeafItsPartAndItsLikeAllOfIt) {
  network_.deliver(node_, front_end_, work(1));
  EXPECT_EQ(sent_to(left_), "1: 10");
  EXPECT_EQ(sent_to(right_), "1: 20");
  EXPECT_EQ(sent_to(below_), "1 whole");
}

// The place is the one that the multicast names, whoever else is a child here.
TEST_F(CommProcessMulticastTest, GivesALeafThatComesLaterTheSamePart) {
  network_.deliver(node_, front_end_, work(1));
  network_.deliver(node_, front_end_, work(2));
  EXPECT_EQ(sent_to(child(4)), "1: 40 2: 40");
  EXPECT_EQ(sent_to(child(3)), "1: 30 2: 30");
  EXPECT_EQ(sent_to(child(5)), "1 nothing 2 nothing") << "it was not there when they were sent";
}

TEST_F(CommProcessMulticastTest, GivesItsLikeThatComesLaterAllOfIt) {
  network_.deliver(node_, front_end_, work(1));
  EXPECT_EQ(sent_to(comm_process()), "1 whole");
}

TEST_F(CommProcessMulticastTest, GivesALeafThatIsNotNamedTheNumberAlone) {
  const wire::Bytes payload = wire::encode_fields({{1, std::vector<std::int64_t>{5}}});
  const wire::Multicast to_right{kListed, 1, listed(), payload, IntervalSet::of(2)};
  const wire::Multicast to_other{kListed, 2, listed(), payload, IntervalSet::of(7)};
  network_.deliver(node_, front_end_, to_right);
  network_.deliver(node_, front_end_, to_other);
  EXPECT_EQ(sent_to(right_), "1: 5 2 nothing");
  EXPECT_EQ(sent_to(left_), "") << "it is not of the stream";
}

// Its word of who is below it comes after its link, and changes.
TEST_F(CommProcessMulticastTest, GivesItsLikeWhatItMissedWhenALeafOfTheStreamIsBelowIt) {
  const wire::Bytes payload = wire::encode_fields({});
  const wire::Multicast first{kListed, 1, listed(), payload};
  const wire::Multicast second{kListed, 2, listed(), payload};
  network_.deliver(node_, below_, wire::LeafSet{IntervalSet::range(5, 7), {}});
  network_.deliver(node_, front_end_, first);
  EXPECT_EQ(sent_to(below_), "") << "nobody below it is concerned";
  network_.deliver(node_, below_, wire::LeafSet{IntervalSet::range(5, 8), {}});
  network_.deliver(node_, front_end_, second);
  EXPECT_EQ(sent_to(below_), "1 whole 2 whole");
}

TEST_F(CommProcessMulticastTest, TellsOfANarrowingThatItRefusesAndGivesLeavesNothingWrong) {
  const auto refused = take_refusals();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].stream, kBroken);
  EXPECT_EQ(refused[0].host, "n9");
  EXPECT_NE(refused[0].reason.find("unheard of"), std::string::npos);
  wire::Multicast down = work(1);
  down.stream = kBroken;
  network_.deliver(node_, front_end_, down);
  EXPECT_EQ(sent_to(left_), "1 failed");
  EXPECT_EQ(sent_to(below_), "1 whole");
  EXPECT_TRUE(take_refusals().empty()) << "it is told once";
}

TEST_F(CommProcessMulticastTest, TellsOnceInAStreamWhyANarrowingFails) {
  take_refusals();
  wire::Multicast rubbish = work(1);
  rubbish.payload.assign(16, std::byte{0xff});
  network_.deliver(node_, front_end_, rubbish);
  EXPECT_EQ(sent_to(left_), "1 failed");
  rubbish.number = 2;
  network_.deliver(node_, front_end_, rubbish);
  const auto told = take_refusals();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].stream, kWork);
  EXPECT_EQ(told[0].node, NodeId{9});
}

TEST_F(CommProcessMulticastTest, DoesNotCutWhatWasCutAlready) {
  wire::Multicast part = work(1);
  part.share = MulticastShare::kPart;
  network_.deliver(node_, front_end_, part);
  EXPECT_EQ(sent_to(left_), "");
  EXPECT_EQ(sent_to(below_), "");
}

TEST_F(CommProcessMulticastTest, GivesLeavesNothingOfAStreamThatIsNotOpen) {
  wire::Multicast down = work(1);
  down.stream = StreamId{110};
  network_.deliver(node_, front_end_, down);
  EXPECT_EQ(sent_to(left_), "");
  EXPECT_EQ(sent_to(below_), "1 whole") << "who knows more decides";
}

}  // namespace
}  // namespace xylem::commproc
