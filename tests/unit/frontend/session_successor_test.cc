// A session that goes on with the run of a former front end.

#include <gtest/gtest.h>

#include "tests/unit/frontend/session.h"
#include "tests/unit/storage/packets.h"

namespace xylem::frontend {
namespace {

using storage::account_row;
using storage::window_packet;

TEST_F(SessionTest, GoesOnWithARunOfAFormerFrontEnd) {
  storage::Past past;
  past.front_ends = 2;
  past.epoch_ns = 12'345;
  past.nodes.push_back({NodeId{4}, wire::Role::kBackEnd, "node1", kFrontEndNode, 1, 9, LeafId{7},
                        "attached", "key1"});
  past_ = past;
  start();
  const overlay::LinkId known = join(1);
  std::optional<wire::Control> control;
  std::optional<wire::Assignment> place;
  for (auto& sent : network_.take_sent()) {
    if (const auto* it = std::get_if<wire::Control>(&sent.message)) control = *it;
    if (const auto* it = std::get_if<wire::Assignment>(&sent.message)) place = *it;
  }
  ASSERT_TRUE(control && place);
  EXPECT_EQ(control->epoch_ns, 12'345);
  EXPECT_GT(control->version, 1000u) << "older than what the former one sent";
  EXPECT_EQ(place->leaf, LeafId{7});
  const wire::Assignment fresh = assignment_on(join(2));
  EXPECT_GT(raw(fresh.leaf), 1000u) << "the former one may have given that number out";
  network_.deliver(*session_, known, window_packet(1, 7, 10, account_row(7, 1, 10)));
  network_.advance(*session_, kSecond);
  EXPECT_EQ(network_.take_sent_of<wire::Acknowledgement>().size(), 1u);
}

// Of a run of hosts 1 to `hosts`, one rank of a world on each.
storage::Past past_of(unsigned hosts) {
  storage::Past past;
  past.front_ends = 2;
  for (unsigned i = 1; i <= hosts; ++i) {
    const std::string number = std::to_string(i);
    past.nodes.push_back({NodeId{i}, wire::Role::kBackEnd, "node" + number, kFrontEndNode, 1, 9,
                          LeafId{i}, "attached", "key" + number});
    past.processes.push_back({LeafId{i}, Lane{1}, true, storage::world_key(1), hosts, Rank{i - 1}});
  }
  return past;
}

overlay::Peer returning_host(unsigned i) {
  overlay::Peer peer;
  peer.accepted = true;
  peer.role = wire::Role::kBackEnd;
  peer.node = NodeId{i};
  peer.leaf = LeafId{i};
  peer.level = 1;
  peer.host_key = "key" + std::to_string(i);
  return peer;
}

TEST_F(SessionTest, PlacesNothingBeforeTheHostsOfAFormerFrontEndAreBack) {
  past_ = past_of(4);
  start("kary:2");
  for (unsigned i = 1; i < 4; ++i) network_.link_up(*session_, returning_host(i));
  network_.advance(*session_, kSecond);
  EXPECT_TRUE(network_.take_sent_of<wire::StartCommProcess>().empty());
  network_.link_up(*session_, returning_host(4));
  network_.advance(*session_, kSecond);
  EXPECT_EQ(network_.take_sent_of<wire::StartCommProcess>().size(), 2u) << "one was done without";
}

// Processes 11 and 12, below 10, had been started when the former one died; that they attached it
// did not store.
TEST_F(SessionTest, KnowsByTheirReportsThatCommunicationProcessesHaveAttached) {
  past_ = past_of(1);
  for (const unsigned node : {10u, 11u, 12u}) {
    const bool is_inner = node == 10;
    past_->nodes.push_back({NodeId{node}, wire::Role::kCommProcess, "node1",
                            is_inner ? kFrontEndNode : NodeId{10}, is_inner ? 1u : 2u, 9,
                            wire::kNoLeaf, is_inner ? "attached" : "started", "key1"});
  }
  start();
  const overlay::LinkId leaf = network_.link_up(*session_, returning_host(1));
  overlay::Peer inner = returning_host(10);
  inner.role = wire::Role::kCommProcess;
  inner.leaf = wire::kNoLeaf;
  const overlay::LinkId link = network_.link_up(*session_, inner);
  const auto report = [&](unsigned node) {
    wire::LinkReport told;
    told.node = NodeId{node};
    network_.deliver(*session_, link, told);
    network_.advance(*session_, 100 * kMillisecond);
  };
  report(11);
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.nodes.at(NodeId{11}).state, "attached");
  finish(0);
  leave(leaf);
  for (int i = 0; i < 150 && !network_.stopped; ++i) {
    report(10);
    report(11);
  }
  ASSERT_EQ(network_.stopped, 0);
  for (const unsigned node : {10u, 11u, 12u}) {
    EXPECT_EQ(store_.nodes.at(NodeId{node}).state, "left") << node;
  }
}

// Only communication processes must report. A host is lost when it is below no link.
TEST_F(SessionTest, MissesNoHostOfAFormerFrontEndThatSendsNoReports) {
  past_ = past_of(1);
  start();
  network_.link_up(*session_, returning_host(1));
  for (int i = 0; i < 60; ++i) network_.advance(*session_, kSecond);
  const auto node = store_.nodes.find(NodeId{1});
  EXPECT_TRUE(node == store_.nodes.end() || node->second.state == "attached")
      << node->second.state << ": " << node->second.reason;
  EXPECT_TRUE(store_.lost.empty());
}

TEST_F(SessionTest, WaitsWithItsEndForTheHostsOfAFormerFrontEnd) {
  past_ = past_of(1);
  past_->ended = IntervalSet::of(1);  // Stored, but perhaps not acknowledged.
  start();
  finish(0);
  network_.advance(*session_, kSecond);
  EXPECT_FALSE(network_.stopped) << "it would look for a front end for a minute";
  const overlay::LinkId link = network_.link_up(*session_, returning_host(1));
  leave(link);
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_EQ(session_->outcome().trouble, "");
  EXPECT_EQ(session_->outcome().ranks, 1u);
}

// Its predecessor died before it had stored anything; the agent tries again at growing intervals,
// and where all of its processes have ended its folder is gone.
TEST_F(SessionTest, WaitsForAnAgentThatItsPredecessorDidNotLiveToStore) {
  past_.emplace();
  past_->front_ends = 2;
  start();
  finish(0);
  for (int i = 0; i < 9; ++i) network_.advance(*session_, kSecond);
  EXPECT_TRUE(network_.take_sent_of<wire::Control>().empty());
  EXPECT_FALSE(network_.stopped) << "the job's record would be empty";
  for (int i = 0; i < 2; ++i) network_.advance(*session_, kSecond);
  EXPECT_EQ(network_.stopped, 0);
}

TEST_F(SessionTest, DoesNotWaitForEverForAHostThatHasSaidItsLast) {
  past_ = past_of(1);
  past_->ended = IntervalSet::of(1);
  start();
  finish(0);
  for (int i = 0; i < 6; ++i) network_.advance(*session_, kSecond);
  EXPECT_EQ(network_.stopped, 0);
}

TEST_F(SessionTest, MissesNoHostThatHasSaidItsLastToAFormerFrontEnd) {
  past_ = past_of(2);
  past_->ended = IntervalSet::of(1);
  start();
  network_.advance(*session_, 12 * kSecond);
  ASSERT_EQ(store_.lost.size(), 1u) << "the other one";
  EXPECT_EQ(store_.nodes.at(NodeId{2}).state, "lost");
}

TEST_F(SessionTest, BelievesALeafWhosePlaceItsPredecessorDidNotLiveToStore) {
  storage::Past past;
  past.front_ends = 2;
  past_ = past;
  start();
  overlay::Peer peer;
  peer.accepted = true;
  peer.role = wire::Role::kBackEnd;
  peer.node = NodeId{3};
  peer.leaf = LeafId{9};
  peer.level = 1;
  peer.host_key = "key1";
  const overlay::LinkId link = network_.link_up(*session_, peer);
  finish(0);
  network_.advance(*session_, kSecond);
  EXPECT_FALSE(network_.stopped) << "it was not waited for";
  leave(link);
  EXPECT_EQ(network_.stopped, 0);
}

}  // namespace
}  // namespace xylem::frontend
