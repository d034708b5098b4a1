// A session and its tree: how it is made, whom it waits for, how it ends.

#include "tests/unit/frontend/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/unit/storage/packets.h"

namespace xylem::frontend {
namespace {

using storage::account_row;
using storage::process_row;
using storage::registration_packet;
using storage::window_packet;

TEST_F(SessionTest, GivesAHostALeafAndItselfAsParentAtOnce) {
  start();
  const overlay::LinkId link = join(1);
  const wire::Assignment assignment = assignment_on(link);
  EXPECT_EQ(assignment.leaf, LeafId{1});
  ASSERT_EQ(assignment.parents.size(), 1u);
  EXPECT_EQ(assignment.parents[0].node, kFrontEndNode);
}

// A session that places by what its back ends measure; four hosts, of which the first two are busy.
class FuzzySessionTest : public SessionTest {
 protected:
  FuzzySessionTest() { choice_.policy = placement::Policy::kFuzzy; }

  void gather() {
    start("kary:2");
    for (int host = 1; host <= 4; ++host) hosts_.push_back(join(host));
    for (std::uint32_t leaf = 1; leaf <= 4; ++leaf) {
      network_.deliver(*session_, hosts_[leaf - 1],
                       registration_packet(leaf, {process_row(1, leaf - 1)}));
    }
  }
  void measured(std::uint32_t leaf, double idle) {
    network_.deliver(*session_, hosts_[leaf - 1],
                     wire::HostFacts{LeafId{leaf},
                                     {{"idle", idle}, {"cores", 4}, {"processes", 9}, {"odd", 1}}});
  }
  /// Hosts that are to start a communication process, in order.
  std::vector<int> ordered() {
    std::vector<int> hosts;
    for (auto& sent : network_.take_sent()) {
      if (!std::holds_alternative<wire::StartCommProcess>(sent.message)) continue;
      const auto link = std::find(hosts_.begin(), hosts_.end(), sent.link);
      hosts.push_back(static_cast<int>(link - hosts_.begin()) + 1);
    }
    return hosts;
  }

  std::vector<overlay::LinkId> hosts_;
};

TEST_F(FuzzySessionTest, WaitsForTheNumbersOfEveryHostAndPlacesByThem) {
  gather();
  measured(1, 0.1);
  measured(2, 0.1);
  measured(3, 0.9);
  EXPECT_EQ(ordered(), std::vector<int>{}) << "one is missing";
  measured(4, 0.9);
  EXPECT_EQ(ordered(), (std::vector<int>{3, 4}));
}

TEST_F(FuzzySessionTest, WaitsNoLongerThanItSaysAndNamesWhomItDoesNotKnow) {
  gather();
  measured(1, 0.1);
  measured(2, 0.1);
  measured(3, 0.9);
  network_.advance(*session_, 1900 * kMillisecond);
  EXPECT_EQ(ordered(), std::vector<int>{});
  network_.advance(*session_, 200 * kMillisecond);
  EXPECT_EQ(ordered().size(), 2u);
  EXPECT_TRUE(was_said("node4"));
  EXPECT_FALSE(was_said("node3"));
}

TEST_F(FuzzySessionTest, KeepsWhatItJudgedByAsOfOneMoment) {
  gather();
  network_.advance(*session_, 260 * kMillisecond);
  for (std::uint32_t leaf = 1; leaf <= 4; ++leaf) measured(leaf, 0.25 * leaf);
  measured(1, 0.5);  // After the tree was placed: a sample like others.
  network_.advance(*session_, kSecond);
  std::vector<std::pair<wire::HostFacts, Nanos>> samples, judged;
  for (const auto& [host, at_ns] : store_.measured) {
    const bool counts = host.facts.back().name == "processes";
    (counts ? judged : samples).emplace_back(host, at_ns);
  }
  ASSERT_EQ(judged.size(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(judged[i].second, judged[0].second);
    EXPECT_EQ(judged[i].first.leaf, LeafId{i + 1});
    EXPECT_EQ(
        judged[i].first.facts,
        (std::vector<wire::HostFact>{{"idle", 0.25 * (i + 1)}, {"cores", 4}, {"processes", 1}}));
  }
  ASSERT_EQ(samples.size(), 5u);
  for (const auto& [host, at_ns] : samples) {
    EXPECT_EQ(host.facts.size(), 2u) << "what is counted, and what nobody knows, is not measured";
    EXPECT_EQ(at_ns % (250 * kMillisecond), 0);
    EXPECT_GT(at_ns, 0);
  }
}

TEST_F(SessionTest, PlacesEvenlyWithoutWaitingForNumbers) {
  start("kary:2");
  std::vector<overlay::LinkId> hosts;
  for (int host = 1; host <= 4; ++host) hosts.push_back(join(host));
  for (std::uint32_t leaf = 1; leaf <= 4; ++leaf) {
    network_.deliver(*session_, hosts[leaf - 1],
                     registration_packet(leaf, {process_row(1, leaf - 1)}));
  }
  std::size_t orders = 0;
  for (auto& sent : network_.take_sent()) {
    orders += std::holds_alternative<wire::StartCommProcess>(sent.message) ? 1 : 0;
  }
  EXPECT_EQ(orders, 2u);
}

TEST_F(SessionTest, PlacesTheTreeWhenTheWorldIsComplete) {
  start("kary:2");
  std::vector<overlay::LinkId> hosts;
  for (int host = 1; host <= 4; ++host) hosts.push_back(join(host));
  network_.take_sent();
  for (std::uint32_t leaf = 1; leaf <= 4; ++leaf) {
    network_.deliver(*session_, hosts[leaf - 1],
                     registration_packet(leaf, {process_row(1, leaf - 1)}));
  }
  // Four back ends, two internal leaves below the front end.
  std::vector<std::pair<overlay::LinkId, wire::StartCommProcess>> orders;
  for (auto& sent : network_.take_sent()) {
    if (const auto* order = std::get_if<wire::StartCommProcess>(&sent.message)) {
      orders.emplace_back(sent.link, *order);
    }
  }
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_NE(orders[0].first, orders[1].first) << "two hosts";

  for (const auto& [starter, order] : orders) {
    overlay::Peer peer;
    peer.accepted = true;
    peer.role = wire::Role::kCommProcess;
    peer.node = order.node;
    peer.level = order.level;
    const overlay::LinkId link = network_.link_up(*session_, peer);
    wire::CommProcessReport report;
    report.node = order.node;
    report.addresses = {{"10.0.0.1", 7, "", ""}};
    network_.deliver(*session_, link, report);
  }
  int moved = 0;
  for (auto& sent : network_.take_sent()) {
    const auto* assignment = std::get_if<wire::Assignment>(&sent.message);
    if (assignment == nullptr || assignment->leaf == wire::kNoLeaf) continue;
    ++moved;
    EXPECT_NE(assignment->parents.front().node, kFrontEndNode);
    EXPECT_EQ(assignment->parents.back().node, kFrontEndNode);
    EXPECT_EQ(assignment->level, 2u);
  }
  EXPECT_EQ(moved, 4);
}

TEST_F(SessionTest, CountsACommunicationProcessAsLostThatIsNotHeardOfAndTakesItBack) {
  start("kary:2");
  std::vector<overlay::LinkId> hosts;
  for (int host = 1; host <= 4; ++host) hosts.push_back(join(host));
  for (std::uint32_t leaf = 1; leaf <= 4; ++leaf) {
    network_.deliver(*session_, hosts[leaf - 1],
                     registration_packet(leaf, {process_row(1, leaf - 1)}));
  }
  const auto orders = network_.take_sent_of<wire::StartCommProcess>();
  ASSERT_EQ(orders.size(), 2u);
  for (const auto& order : orders) {
    wire::CommProcessReport report;
    report.node = order.node;
    report.addresses = {{"10.0.0.1", 7, "", ""}};
    network_.deliver(*session_, hosts[0], report);
    network_.deliver(*session_, hosts[0], wire::Attached{order.node, kFrontEndNode});
  }
  // The first goes on reporting, by whatever way; the second falls silent.
  wire::LinkReport alive;
  alive.node = orders[0].node;
  for (int second = 0; second < 12; ++second) {
    network_.deliver(*session_, hosts[0], alive);
    network_.advance(*session_, kSecond);
  }
  EXPECT_EQ(store_.nodes.at(orders[0].node).state, "attached");
  EXPECT_EQ(store_.nodes.at(orders[1].node).state, "lost");
  EXPECT_TRUE(was_said("communication process is silent"));
  ASSERT_EQ(store_.notices.size(), 1u);
  EXPECT_EQ(store_.notices[0].first.role, wire::Role::kCommProcess);
  EXPECT_EQ(store_.notices[0].first.text, "lost: it is silent");
  alive.node = orders[1].node;
  network_.deliver(*session_, hosts[0], alive);
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.nodes.at(orders[1].node).state, "attached");
}

TEST_F(SessionTest, DoesWithoutACommunicationProcessThatDoesNotStart) {
  start("kary:2");
  std::vector<overlay::LinkId> hosts;
  for (int host = 1; host <= 4; ++host) hosts.push_back(join(host));
  for (std::uint32_t leaf = 1; leaf <= 4; ++leaf) {
    network_.deliver(*session_, hosts[leaf - 1],
                     registration_packet(leaf, {process_row(1, leaf - 1)}));
  }
  const auto orders = network_.take_sent_of<wire::StartCommProcess>();
  ASSERT_EQ(orders.size(), 2u);
  wire::CommProcessReport failure;
  failure.node = orders[0].node;
  failure.failure = "xylem-commproc: not found";
  network_.deliver(*session_, hosts[0], failure);
  network_.advance(*session_, 6 * kSecond);  // The other never reports.
  EXPECT_TRUE(was_said("communication process not started"));
  EXPECT_TRUE(was_said("did not report in time"));
  for (const auto& assignment : network_.take_sent_of<wire::Assignment>()) {
    ASSERT_EQ(assignment.parents.size(), 1u);
    EXPECT_EQ(assignment.parents[0].node, kFrontEndNode);
  }
}

TEST_F(SessionTest, EndsWithTheJobWhenAllHostsHaveLeft) {
  start();
  const overlay::LinkId link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 1)}));
  finish(7);
  EXPECT_FALSE(network_.stopped);
  bool told = false;
  for (const auto& control : network_.take_sent_of<wire::Control>()) told |= control.finish;
  EXPECT_TRUE(told);
  leave(link);
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_EQ(store_.ended_with, 7);
  EXPECT_EQ(session_->outcome().hosts, 1u);
  EXPECT_EQ(session_->outcome().trouble, "");
  EXPECT_EQ(store_.nodes.at(kFrontEndNode).state, "left");
}

TEST_F(SessionTest, EndsAtOnceWhenNobodyCame) {
  start();
  finish(0);
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_EQ(session_->outcome().hosts, 0u);
}

TEST_F(SessionTest, NamesAHostThatJoinsWhileTheEndIsBeingStored) {
  start();
  recorder_.stalls = true;
  finish(0);
  const overlay::LinkId link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 1)}));
  EXPECT_FALSE(network_.stopped);
  recorder_.stalls = false;
  network_.readable(*session_, SlowRecorder::kFd);
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_EQ(session_->outcome().trouble,
            "joined after the end of the run, so its data is not stored: host node1");
}

TEST_F(SessionTest, WaitsForTheRanksOfAWorldThatAreOnTheirWay) {
  start();
  const overlay::LinkId link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 2)}));
  network_.take_sent();
  finish(0);
  EXPECT_TRUE(network_.take_sent_of<wire::Control>().empty()) << "rank 1 is on its way";
  network_.advance(*session_, 3 * kSecond);
  EXPECT_FALSE(network_.take_sent_of<wire::Control>().empty()) << "not for ever";
}

TEST_F(SessionTest, OfAJobThatWasNotStartedWaitsForNobodyWhoMayCome) {
  start();
  const overlay::LinkId link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 2)}));
  network_.take_sent();
  ASSERT_EQ(::write(ours_.get(), "abandon\n", 8), 8);
  network_.readable(*session_, control_.get());
  EXPECT_FALSE(network_.take_sent_of<wire::Control>().empty());
  leave(link);
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_TRUE(session_->outcome().abandoned);
}

TEST_F(SessionTest, HoldsSomethingWhenAProcessHasRegistered) {
  start();
  const overlay::LinkId link = join(1);
  EXPECT_FALSE(session_->outcome().holds_something) << "a host alone is nothing";
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 1)}));
  EXPECT_TRUE(session_->outcome().holds_something);
}

TEST_F(SessionTest, SaysThatItLivesWhileItWaitsForTheEnd) {
  start();
  join(1);
  finish(0);
  network_.advance(*session_, 3500 * kMillisecond);
  char text[64] = "";
  EXPECT_GT(::recv(ours_.get(), text, sizeof text - 1, MSG_DONTWAIT), 0);
  EXPECT_GE(std::string(text).size(), 3 * std::string("alive\n").size());
  recorder_.stalls = true;
  network_.advance(*session_, 5 * kSecond);
  while (::recv(ours_.get(), text, sizeof text, MSG_DONTWAIT) > 0) {
  }
  network_.advance(*session_, 5 * kSecond);
  EXPECT_LE(::recv(ours_.get(), text, sizeof text, MSG_DONTWAIT), 0) << "the store does not answer";
}

TEST_F(SessionTest, FinishesWhenWhoStartedItIsGone) {
  start();
  ours_.reset();
  network_.readable(*session_, control_.get());
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_EQ(store_.ended_with, -1);
}

TEST_F(SessionTest, GivesUpAHostThatIsGoneAndTakesItBack) {
  start();
  const overlay::LinkId link = join(1);
  network_.link_down(*session_, link);
  network_.advance(*session_, 9 * kSecond);
  EXPECT_TRUE(store_.lost.empty());
  network_.advance(*session_, 2 * kSecond);
  ASSERT_EQ(store_.lost.size(), 1u);
  EXPECT_EQ(store_.nodes.at(NodeId{1}).state, "lost");
  EXPECT_GE(store_.nodes.at(NodeId{1}).at_ns, 10 * kSecond);
  join(1);
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.nodes.at(NodeId{1}).state, "attached");
  // What became of it stands beside what processes log themselves.
  ASSERT_EQ(store_.notices.size(), 2u);
  EXPECT_EQ(store_.notices[0].first.host, "node1");
  EXPECT_TRUE(store_.notices[0].first.error);
  EXPECT_EQ(store_.notices[0].first.text, "is silent");
  EXPECT_EQ(store_.notices[1].first.text, "heard of again");
}

TEST_F(SessionTest, GivesUpWaitingForAHostThatNeverEnds) {
  start();
  join(1);
  finish(0);
  network_.advance(*session_, 30 * kSecond);
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_NE(session_->outcome().trouble.find("node1"), std::string::npos);
}

TEST_F(SessionTest, SaysThatRanksOfAWorldWereNeverSeen) {
  start();
  const overlay::LinkId link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 16)}));
  finish(0);
  network_.advance(*session_, 3 * kSecond);
  leave(link);
  EXPECT_NE(session_->outcome().trouble.find("1 of 16 ranks of a world were seen"),
            std::string::npos);
}

TEST_F(SessionTest, TakesAHostBackThatReconnectsWithoutANewReport) {
  start();
  const overlay::LinkId link = join(1);
  network_.link_down(*session_, link);
  network_.advance(*session_, 12 * kSecond);
  ASSERT_EQ(store_.lost.size(), 1u);
  overlay::Peer peer;
  peer.accepted = true;
  peer.role = wire::Role::kBackEnd;
  peer.node = NodeId{1};
  peer.leaf = LeafId{1};
  peer.level = 1;
  network_.link_up(*session_, peer);
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.nodes.at(NodeId{1}).state, "attached");
  EXPECT_TRUE(was_said("host heard of again"));
}

TEST_F(SessionTest, ALinkIsOneHost) {
  start();
  const overlay::LinkId link = join(1);
  for (int i = 0; i < 100; ++i) {
    network_.deliver(*session_, link, report_of(1000 + i));
  }
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.nodes.size(), 2u) << "the front end and the host";
  EXPECT_TRUE(was_said("its link already reports for another host"));
  EXPECT_FALSE(network_.links.contains(link)) << "is closed";
}

TEST_F(SessionTest, AHostMayReportAgainOnItsLink) {
  start();
  const overlay::LinkId link = join(1);
  network_.deliver(*session_, link, report_of(1));
  network_.advance(*session_, kSecond);
  EXPECT_TRUE(network_.links.contains(link));
  EXPECT_EQ(store_.nodes.size(), 2u);
}

TEST_F(SessionTest, NobodyElseSpeaksForAHostThatIsThere) {
  start();
  const overlay::LinkId link = join(1);
  const overlay::LinkId other = network_.link_up(*session_, newcomer());
  wire::HostReport report = report_of(1);
  report.pid = 4711;
  network_.deliver(*session_, other, report);
  EXPECT_TRUE(was_said("another process already reports for this host"));
  EXPECT_TRUE(network_.links.contains(link));
  EXPECT_FALSE(network_.links.contains(other));

  // Its own process, before the loss of the link was noticed; and another one, after that.
  const overlay::LinkId again = network_.link_up(*session_, newcomer());
  network_.deliver(*session_, again, report_of(1));
  EXPECT_TRUE(network_.links.contains(again));
  network_.link_down(*session_, link);
  network_.link_down(*session_, again);
  const overlay::LinkId restarted = network_.link_up(*session_, newcomer());
  network_.deliver(*session_, restarted, report);
  network_.advance(*session_, kSecond);
  EXPECT_TRUE(network_.links.contains(restarted));
  EXPECT_EQ(store_.nodes.size(), 2u);
}

TEST_F(SessionTest, NeedsNoGoodbyeAfterALastWindow) {
  start();
  const overlay::LinkId link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 1)}));
  finish(0);
  wire::Packet last = window_packet(1, 1, 10, account_row(1, 1, 10));
  last.last = true;
  network_.deliver(*session_, link, last);
  network_.advance(*session_, kSecond);
  network_.link_down(*session_, link);
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_EQ(session_->outcome().trouble, "");
  EXPECT_TRUE(store_.lost.empty());
}

TEST_F(SessionTest, GivesUpAtTheEndThoughPacketsKeepComingThatCannotBeStored) {
  start();
  const overlay::LinkId link = join(1);
  store_.broken = true;
  finish(0);
  for (std::uint64_t wave = 1; wave < 60 && !network_.stopped; ++wave) {
    network_.deliver(*session_, link, window_packet(wave, 1, 10, account_row(1, 1, 10 * wave)));
    network_.advance(*session_, kSecond);
  }
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_NE(session_->outcome().trouble.find("did not report its end"), std::string::npos);
  EXPECT_NE(session_->outcome().unstored.find("no room left"), std::string::npos);
}

TEST_F(SessionTest, NotesWhoFoundAnotherParentThanItWasTold) {
  start("flat");
  const auto link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 1)}));
  const auto other = join(2);  // Late: the tree is placed.
  network_.deliver(*session_, other, wire::Attached{NodeId{2}, kFrontEndNode});
  network_.advance(*session_, kSecond);
  EXPECT_TRUE(store_.notices.empty()) << "it is where it was told to be";
  network_.deliver(*session_, other, wire::Attached{NodeId{2}, NodeId{1}});
  network_.advance(*session_, kSecond);
  ASSERT_EQ(store_.notices.size(), 1u);
  EXPECT_EQ(store_.notices[0].first.host, "node2");
  EXPECT_EQ(store_.notices[0].first.text, "found another parent");
}

// Before the tree was placed all of them were below the front end.
TEST_F(SessionTest, WhoGoesToItsPlaceHasFoundNoOtherParent) {
  start("kary:2");
  std::vector<overlay::LinkId> hosts;
  for (std::uint32_t i = 1; i <= 4; ++i) {
    hosts.push_back(join(static_cast<int>(i)));
    network_.deliver(*session_, hosts.back(), wire::Attached{NodeId{i}, kFrontEndNode});
  }
  for (std::uint32_t leaf = 1; leaf <= 4; ++leaf) {
    network_.deliver(*session_, hosts[leaf - 1],
                     registration_packet(leaf, {process_row(1, leaf - 1)}));
  }
  network_.deliver(*session_, hosts[0], wire::Attached{NodeId{1}, kFrontEndNode});  // Late.
  const auto orders = network_.take_sent_of<wire::StartCommProcess>();
  ASSERT_EQ(orders.size(), 2u);
  for (const auto& order : orders) {
    const wire::CommProcessReport report{order.node, {{"10.0.0.1", 7, "", ""}}, 7, ""};
    network_.deliver(*session_, hosts[0], report);
  }
  std::size_t moved = 0;
  for (const auto& [link, message] : network_.take_sent()) {
    const auto* place = std::get_if<wire::Assignment>(&message);
    if (place == nullptr || place->leaf == wire::kNoLeaf) continue;
    const NodeId parent = place->parents.front().node;
    moved += parent == kFrontEndNode ? 0 : 1;
    network_.deliver(*session_, link, wire::Attached{place->node, parent});
  }
  EXPECT_EQ(moved, 4u);
  network_.advance(*session_, kSecond);
  EXPECT_TRUE(store_.notices.empty());
}

// Whoever started the communication process may tell of its end before the leaf has another parent.
TEST_F(SessionTest, NotesWhoFoundAnotherParentWhicheverNewsComesFirst) {
  start("kary:2");
  std::vector<overlay::LinkId> hosts;
  for (int host = 1; host <= 4; ++host) hosts.push_back(join(host));
  for (std::uint32_t leaf = 1; leaf <= 4; ++leaf) {
    network_.deliver(*session_, hosts[leaf - 1],
                     registration_packet(leaf, {process_row(1, leaf - 1)}));
  }
  const auto orders = network_.take_sent_of<wire::StartCommProcess>();
  ASSERT_EQ(orders.size(), 2u);
  wire::CommProcessReport report;
  report.addresses = {{"10.0.0.1", 7, "", ""}};
  for (const auto& order : orders) {
    report.node = order.node;
    network_.deliver(*session_, hosts[0], report);
  }
  std::vector<wire::Attached> below_first;
  for (const auto& [link, message] : network_.take_sent()) {
    const auto* place = std::get_if<wire::Assignment>(&message);
    if (place == nullptr || place->leaf == wire::kNoLeaf) continue;
    const wire::Attached attached{place->node, place->parents.front().node};
    network_.deliver(*session_, link, attached);
    if (attached.parent == orders[0].node) below_first.push_back(attached);
  }
  ASSERT_EQ(below_first.size(), 2u);
  const auto attach_to_second = [&](const wire::Attached& before) {
    network_.deliver(*session_, hosts[3], wire::Attached{before.node, orders[1].node});
  };
  attach_to_second(below_first[0]);
  report.node = orders[0].node;
  report.failure = "killed";
  network_.deliver(*session_, hosts[0], report);
  attach_to_second(below_first[1]);
  attach_to_second(below_first[1]);  // It says so to each new link.
  network_.advance(*session_, kSecond);
  const auto healed =
      std::count_if(store_.notices.begin(), store_.notices.end(),
                    [](const auto& notice) { return notice.first.text == "found another parent"; });
  EXPECT_EQ(healed, 2);
}

// Starts nothing; says what it is told to.
class FakeLauncher final : public launch::CommProcessLauncher {
 public:
  Result<std::vector<int>> start(NodeId node, std::uint32_t, const std::string& host,
                                 const std::vector<wire::Address>&) override {
    asked.emplace_back(node, host);
    if (host == "broken") return unexpected(Code::kNotFound, "cannot start ssh");
    return std::vector<int>{kFd};
  }
  std::optional<Heard> hear(int fd) override {
    if (fd != kFd) return std::nullopt;
    return Heard{true, asked.front().first, "ssh gate ended with code 255: no route"};
  }
  static constexpr int kFd = 4712;
  std::vector<std::pair<NodeId, std::string>> asked;
};

TEST_F(SessionTest, HasCommunicationProcessesLaunchedWhereNoBackEndIs) {
  const std::string path = std::filesystem::path(::testing::TempDir()) /
                           ("xylem-launched-" + std::to_string(::getpid()) + ".topo");
  std::ofstream(path) << "head:0 => gate:0 broken:0 node1:0 ;\n";
  FakeLauncher launcher;
  launcher_ = &launcher;
  start(("file:" + path).c_str());
  const auto link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 1)}));
  std::filesystem::remove(path);
  ASSERT_EQ(launcher.asked.size(), 2u);
  EXPECT_EQ(launcher.asked[0].second, "gate");
  EXPECT_EQ(network_.take_sent_of<wire::StartCommProcess>().size(), 1u) << "of node1's back end";
  network_.readable(*session_, FakeLauncher::kFd);
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.nodes.at(launcher.asked[0].first).state, "lost");
  EXPECT_EQ(store_.nodes.at(launcher.asked[1].first).state, "lost");
  ASSERT_EQ(store_.notices.size(), 2u);
  EXPECT_EQ(store_.notices[0].first.host, "broken");
  EXPECT_EQ(store_.notices[0].first.text, "lost: cannot start ssh");
  EXPECT_EQ(store_.notices[1].first.host, "gate");
  EXPECT_EQ(store_.notices[1].first.text, "lost: ssh gate ended with code 255: no route");
}

TEST_F(SessionTest, IgnoresNodesThatNobodyPlanned) {
  start();
  const overlay::LinkId link = join(1);
  wire::CommProcessReport report;
  report.node = NodeId{4711};
  network_.deliver(*session_, link, report);
  network_.deliver(*session_, link, wire::Attached{NodeId{4711}, NodeId{4712}});
  wire::LinkReport health;
  health.node = NodeId{4711};
  network_.deliver(*session_, link, health);
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.nodes.size(), 2u);
}

}  // namespace
}  // namespace xylem::frontend
