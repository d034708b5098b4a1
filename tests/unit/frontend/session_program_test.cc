// A session whose run has programs that send on its streams: leaves, and no hosts.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/unit/frontend/session.h"
#include "tests/unit/storage/packets.h"
#include "wire/waves.h"

namespace xylem::frontend {
namespace {

using storage::process_row;
using storage::registration_packet;

constexpr StreamId kEnergy = wire::kFirstStoredStream;

class ProgramTest : public SessionTest {
 protected:
  ProgramTest() {
    wire::StreamSpec energy;
    energy.id = kEnergy;
    energy.name = "energy";
    streams_ = {energy};
  }

  // Hosts `first` to `last`, each with a rank of one world of so many.
  void join_hosts(int first, int last, std::uint32_t ranks) {
    for (int host = first; host <= last; ++host) {
      const overlay::LinkId link = join(host);
      const auto leaf = static_cast<std::uint32_t>(raw(assignment_on(link).leaf));
      hosts_.push_back(link);
      leaves_.push_back(leaf);
      network_.deliver(*session_, link,
                       registration_packet(
                           leaf, {process_row(1, static_cast<std::uint32_t>(host) - 1, 1, ranks)}));
    }
  }
  // Links on which a communication process was asked for.
  std::vector<overlay::LinkId> ordered() {
    std::vector<overlay::LinkId> links;
    for (auto& sent : network_.take_sent()) {
      if (std::holds_alternative<wire::StartCommProcess>(sent.message)) links.push_back(sent.link);
    }
    return links;
  }
  static wire::Packet wave(StreamId stream, std::uint32_t leaf) {
    const wire::Fields fields{{1, std::int64_t{1}}};
    return wire::Packet({stream, kLeafLane, 0, 1, IntervalSet::of(leaf)},
                        wire::encode_waves({&fields, 1}));
  }
  std::size_t acknowledged() {
    network_.advance(*session_, kSecond);
    return network_.take_sent_of<wire::Acknowledgement>().size();
  }

  std::vector<overlay::LinkId> hosts_;
  std::vector<std::uint32_t> leaves_;
};

TEST_F(ProgramTest, CarriesNoCommunicationProcessThoughItWasThereFirst) {
  start("kary:2");
  std::vector<overlay::LinkId> programs;
  for (int i = 1; i <= 6; ++i)
    programs.push_back(join_program(i % 4 + 1, "leaf:" + std::to_string(i)));
  network_.take_sent();
  join_hosts(1, 3, 4);
  network_.take_sent();
  network_.deliver(*session_, join(4), registration_packet(10, {process_row(1, 3, 1, 4)}));
  const auto asked = ordered();
  EXPECT_EQ(asked.size(), 2u) << "as many as four hosts need";
  for (const overlay::LinkId link : programs) {
    EXPECT_EQ(std::count(asked.begin(), asked.end(), link), 0);
  }
}

TEST_F(ProgramTest, IsNotAwaitedByGatheringOrPlacement) {
  choice_.policy = placement::Policy::kFuzzy;
  start("kary:2");
  join_program(1);
  network_.advance(*session_, 60 * kSecond);
  EXPECT_TRUE(ordered().empty()) << "a program alone is no tree";
  join_hosts(1, 4, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    network_.deliver(*session_, hosts_[i], wire::HostFacts{LeafId{leaves_[i]}, {{"idle", 0.5}}});
  }
  EXPECT_EQ(ordered().size(), 2u) << "at once: each host has measured";
  EXPECT_FALSE(was_said("without measurements"));
  for (const auto& [host, at_ns] : store_.measured) EXPECT_NE(host.leaf, LeafId{1});
}

TEST_F(ProgramTest, IsNotCountedAmongTheHostsAtTheEnd) {
  start();
  const overlay::LinkId program = join_program(1);
  join_hosts(1, 2, 2);
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.nodes.at(NodeId{1}).role, wire::Role::kProgram);
  EXPECT_EQ(store_.nodes.at(NodeId{2}).role, wire::Role::kBackEnd);
  finish(0);
  leave(program);
  for (const overlay::LinkId link : hosts_) leave(link);
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_EQ(session_->outcome().hosts, 2u);
}

TEST_F(ProgramTest, MayComeWhileTheTreeIsBeingStarted) {
  start("kary:2");
  join_hosts(1, 4, 4);
  const auto asked = ordered();
  ASSERT_EQ(asked.size(), 2u);
  const overlay::LinkId program = join_program(1);
  network_.take_sent();
  for (std::uint32_t node = 5; node <= 6; ++node) {
    overlay::Peer peer;
    peer.accepted = true;
    peer.role = wire::Role::kCommProcess;
    const overlay::LinkId link = network_.link_up(*session_, peer);
    network_.deliver(*session_, link,
                     wire::CommProcessReport{NodeId{node}, {{"10.0.0.1", 1, "", ""}}, 7, ""});
  }
  network_.advance(*session_, kSecond);
  EXPECT_NE(assignment_on(program).parents.front().node, kFrontEndNode);
}

TEST_F(ProgramTest, ThatIsGoneWithoutAWordDoesNotHoldUpTheEnd) {
  start();
  join_hosts(1, 1, 1);
  const overlay::LinkId program = join_program(1);
  finish(0);
  leave(hosts_[0]);
  network_.link_down(*session_, program);
  network_.advance(*session_, 2 * kSecond);
  EXPECT_FALSE(network_.stopped) << "it may have lost just its link";
  network_.advance(*session_, 2 * kSecond);
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_EQ(store_.lost, std::vector<LeafId>{LeafId{2}});
  EXPECT_EQ(session_->outcome().trouble, "");
  EXPECT_FALSE(was_said("host lost"));
  EXPECT_TRUE(was_said("program lost"));
}

TEST_F(ProgramTest, ThatComputesForSecondsBetweenTwoCallsIsNotLost) {
  start();
  const overlay::LinkId program = join_program(1);
  network_.link_down(*session_, program);
  network_.advance(*session_, 9 * kSecond);
  EXPECT_TRUE(store_.lost.empty());
  EXPECT_TRUE(store_.notices.empty());
  finish(0);
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.lost, std::vector<LeafId>{LeafId{1}}) << "the run's end does not wait for it";
}

TEST_F(ProgramTest, ThatComesBackIsTakenBack) {
  start();
  const overlay::LinkId link = join_program(1);
  network_.link_down(*session_, link);
  network_.advance(*session_, 11 * kSecond);
  EXPECT_EQ(store_.nodes.at(NodeId{1}).state, "lost");
  overlay::Peer peer = newcomer();
  peer.role = wire::Role::kProgram;
  peer.node = NodeId{1};
  peer.leaf = LeafId{1};
  network_.link_up(*session_, peer);
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.nodes.at(NodeId{1}).state, "attached");
}

TEST_F(ProgramTest, CannotSpeakForAHost) {
  start();
  const overlay::LinkId host = join(1);
  network_.link_down(*session_, host);
  const overlay::LinkId program = join_program(1, "key1");
  EXPECT_FALSE(network_.links.contains(program));
  EXPECT_TRUE(was_said("its host key belongs to a process with another role"));
}

TEST_F(ProgramTest, PacketsOfStreamsThatTheRunDoesNotNameAreCountedAndToldOnce) {
  start();
  const overlay::LinkId program = join_program(1);
  for (std::uint32_t i = 1; i <= 5; ++i) {
    network_.deliver(*session_, program, wave(StreamId{raw(kEnergy) + i}, 1));
  }
  EXPECT_EQ(acknowledged(), 0u);
  network_.deliver(*session_, program, wave(kEnergy, 1));
  EXPECT_EQ(acknowledged(), 1u);
  EXPECT_EQ(store_.notices.size(), 1u);
  finish(0);
  leave(program);
  EXPECT_EQ(network_.stopped, 0);
  ASSERT_EQ(store_.notices.size(), 2u);
  EXPECT_EQ(store_.notices[0].first.text,
            "a packet of stream 2147483649, leaves 1, is not of this run and not stored");
  EXPECT_EQ(store_.notices[1].first.text, "5 packets were not of this run and not stored");
}

TEST_F(ProgramTest, PacketsOfLeavesThatNeverJoinedAreNotStored) {
  start();
  const overlay::LinkId program = join_program(1);
  for (const std::uint32_t leaf : {2u, 77u, 1'000'000u}) {
    network_.deliver(*session_, program, wave(kEnergy, leaf));
    network_.deliver(*session_, program, registration_packet(leaf, {process_row(1, 0)}));
  }
  EXPECT_EQ(acknowledged(), 0u);
  network_.deliver(*session_, program, wave(kEnergy, 1));
  EXPECT_EQ(acknowledged(), 1u);
  EXPECT_EQ(store_.notices.size(), 1u);
}

}  // namespace
}  // namespace xylem::frontend
