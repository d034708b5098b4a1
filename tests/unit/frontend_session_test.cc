#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "base/unique_fd.h"
#include "frontend/session.h"
#include "tests/support/fake_network.h"
#include "tests/unit/storage_packets.h"

namespace xylem::frontend {
namespace {

using storage::account_row;
using storage::process_row;
using storage::registration_packet;
using storage::window_packet;

// A store that can be told to fail, in front of the one in memory.
class FragileStore final : public storage::Store {
 public:
  bool broken = false;
  bool superseded = false;
  int commits = 0;

  Result<void> begin_run(const storage::RunFacts& facts) override {
    return inner_->begin_run(facts);
  }
  Result<storage::PutOutcome> put(const wire::Packet& packet) override {
    return inner_->put(packet);
  }
  Result<void> put_node(const storage::NodeRow& node) override {
    nodes[node.id] = node;
    return inner_->put_node(node);
  }
  Result<void> put_clock(const storage::ClockRow& clock) override {
    clocks.push_back(clock);
    return inner_->put_clock(clock);
  }
  Result<void> put_link(const wire::LinkReport& report, Nanos at) override {
    links.emplace_back(report, at);
    return inner_->put_link(report, at);
  }
  Result<void> put_notice(const wire::Notice& notice, Nanos at) override {
    notices.emplace_back(notice, at);
    return inner_->put_notice(notice, at);
  }
  Result<void> put_host_lost(LeafId leaf, const std::string& reason) override {
    if (!reason.empty()) lost.push_back(leaf);
    return inner_->put_host_lost(leaf, reason);
  }
  std::size_t pending_bytes() const override { return inner_->pending_bytes(); }
  Result<void> commit() override {
    if (broken) return unexpected(Code::kExhausted, "no room left on its disk");
    if (superseded) return unexpected(Code::kSuperseded, "another front end has taken over");
    ++commits;
    return inner_->commit();
  }
  Result<void> end_run(int exit_code, Nanos ended) override {
    ended_with = exit_code;
    return inner_->end_run(exit_code, ended);
  }
  Result<std::vector<storage::AccountLine>> account() override { return inner_->account(); }

  std::map<NodeId, storage::NodeRow> nodes;
  std::vector<std::pair<wire::LinkReport, Nanos>> links;
  std::vector<std::pair<wire::Notice, Nanos>> notices;
  std::vector<LeafId> lost;
  std::vector<storage::ClockRow> clocks;
  std::optional<int> ended_with;

 private:
  std::unique_ptr<storage::Store> inner_ = storage::make_memory_store();
};

// A recorder whose store takes its time: until the test lets it go on.
class SlowRecorder final : public storage::Recorder {
 public:
  explicit SlowRecorder(storage::Store& store) : store_(store) {}
  bool stalls = false;
  std::size_t most_rows = 0;

  void record(storage::Batch batch) override {
    most_rows = std::max(most_rows, batch.rows.size());
    batch_ = std::move(batch);
  }
  std::optional<storage::Recorded> take() override {
    if (stalls || !batch_) return std::nullopt;
    return storage::record_now(store_, *std::exchange(batch_, std::nullopt));
  }
  int fd() const override { return kFd; }
  static constexpr int kFd = 4711;  // The fake network never looks at it.

 private:
  storage::Store& store_;
  std::optional<storage::Batch> batch_;
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    set_log_sink([this](Level level, std::string_view line) {
      if (level >= Level::kWarn) said_.emplace_back(line);
    });
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    ours_.reset(ends[0]);
    control_.reset(ends[1]);
    EXPECT_TRUE(store_.begin_run({}));
  }
  ~SessionTest() override { set_log_sink({}); }

  void start(const char* shape = "kary:2", Nanos settle = 2 * kSecond) {
    SessionOptions options;
    options.shape = *tree::parse_shape(shape);
    options.settle = settle;
    options.control_fd = control_.get();
    options.waiting_bytes = waiting_bytes_;
    options.past = past_;
    options.launcher = launcher_;
    session_.emplace(std::move(options), recorder_);
    session_->on_start(network_, network_.now);
  }

  // A back end connects and reports its host; returns its link.
  net::LinkId join(int host) {
    net::Peer peer;
    peer.accepted = true;
    peer.role = wire::Role::kBackEnd;
    peer.level = 0xffff;
    const net::LinkId link = network_.link_up(*session_, peer);
    wire::HostReport report;
    report.name = "node" + std::to_string(host);
    report.host_key = "key" + std::to_string(host);
    network_.deliver(*session_, link, report);
    return link;
  }

  wire::Assignment assignment_on(net::LinkId link) {
    std::optional<wire::Assignment> last;
    for (auto& sent : network_.take_sent()) {
      if (sent.link != link) continue;
      if (const auto* it = std::get_if<wire::Assignment>(&sent.message)) last = *it;
    }
    EXPECT_TRUE(last);
    return last.value_or(wire::Assignment{});
  }

  void finish(int code) {
    const std::string line = "finish " + std::to_string(code) + "\n";
    EXPECT_EQ(::write(ours_.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
    network_.readable(*session_, control_.get());
  }

  void leave(net::LinkId link) {
    network_.deliver(*session_, link, wire::Goodbye{"done"});
    network_.link_down(*session_, link);
  }

  bool was_said(const std::string& words) const {
    for (const std::string& line : said_) {
      if (line.find(words) != std::string::npos) return true;
    }
    return false;
  }

  UniqueFd ours_, control_;
  FragileStore store_;
  SlowRecorder recorder_{store_};
  std::size_t waiting_bytes_ = 64u << 20;
  std::optional<storage::Past> past_;
  CommProcessLauncher* launcher_ = nullptr;
  xylem::testing::FakeNetwork network_;
  std::optional<Session> session_;
  std::vector<std::string> said_;
};

TEST_F(SessionTest, GivesAHostALeafAndItselfAsParentAtOnce) {
  start();
  const net::LinkId link = join(1);
  const wire::Assignment assignment = assignment_on(link);
  EXPECT_EQ(assignment.leaf, LeafId{1});
  ASSERT_EQ(assignment.parents.size(), 1u);
  EXPECT_EQ(assignment.parents[0].node, kFrontEndNode);
}

TEST_F(SessionTest, AcknowledgesOnlyAfterTheCommit) {
  start();
  const net::LinkId link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 1)}));
  network_.deliver(*session_, link, window_packet(1, 1, 10, account_row(1, 1, 10)));
  EXPECT_TRUE(network_.take_sent_of<wire::Acknowledgement>().empty());
  network_.advance(*session_, 250 * kMillisecond);
  const auto acks = network_.take_sent_of<wire::Acknowledgement>();
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(acks[0].stored.size(), 2u);
}

TEST_F(SessionTest, AcknowledgesADuplicateToo) {
  start();
  const net::LinkId link = join(1);
  for (int i = 0; i < 2; ++i) {
    network_.deliver(*session_, link, window_packet(1, 1, 10, account_row(1, 1, 10)));
    network_.advance(*session_, 300 * kMillisecond);
    EXPECT_EQ(network_.take_sent_of<wire::Acknowledgement>().size(), 1u) << i;
  }
}

TEST_F(SessionTest, AcknowledgesNothingWhileTheStoreFailsAndSaysSoOnce) {
  start();
  const net::LinkId link = join(1);
  store_.broken = true;
  for (std::uint64_t wave = 1; wave < 5; ++wave) {
    network_.deliver(*session_, link, window_packet(wave, 1, 10, account_row(1, 1, 10 * wave)));
    network_.advance(*session_, 2 * kSecond);
  }
  EXPECT_TRUE(network_.take_sent_of<wire::Acknowledgement>().empty());
  EXPECT_TRUE(was_said("no room left on its disk"));
  EXPECT_EQ(said_.size(), 1u);
  store_.broken = false;
  network_.deliver(*session_, link, window_packet(9, 1, 10, account_row(1, 1, 50)));
  network_.advance(*session_, 2 * kSecond);
  EXPECT_FALSE(network_.take_sent_of<wire::Acknowledgement>().empty());
  EXPECT_TRUE(was_said("takes data again"));
}

TEST_F(SessionTest, ServesTheTreeWhileTheStoreStalls) {
  start();
  const net::LinkId link = join(1);
  recorder_.stalls = true;
  network_.deliver(*session_, link, window_packet(1, 1, 10, account_row(1, 1, 10)));
  network_.advance(*session_, 10 * kSecond);
  EXPECT_TRUE(network_.take_sent_of<wire::Acknowledgement>().empty());
  assignment_on(join(2));
  recorder_.stalls = false;
  network_.readable(*session_, SlowRecorder::kFd);
  ASSERT_EQ(network_.take_sent_of<wire::Acknowledgement>().size(), 1u);
  EXPECT_TRUE(said_.empty());
}

TEST_F(SessionTest, LeavesWithTheHostsWhatAStalledStoreCannotTake) {
  waiting_bytes_ = 1000;
  start();
  const net::LinkId link = join(1);
  network_.advance(*session_, kSecond);
  recorder_.stalls = true;
  std::uint64_t sent = 0;
  for (std::uint64_t wave = 1; wave <= 1000; ++wave, ++sent) {
    network_.deliver(*session_, link, window_packet(wave, 1, 10, account_row(1, 1, 10 * wave)));
  }
  network_.advance(*session_, kSecond);
  recorder_.stalls = false;
  network_.readable(*session_, SlowRecorder::kFd);
  network_.advance(*session_, kSecond);
  std::size_t stored = 0;
  std::vector<wire::PacketId> asked;
  for (const auto& ack : network_.take_sent_of<wire::Acknowledgement>()) {
    stored += ack.stored.size();
    asked.insert(asked.end(), ack.resend.begin(), ack.resend.end());
  }
  EXPECT_GT(stored, 0u);
  EXPECT_LT(stored, 100u);
  ASSERT_EQ(asked.size(), 1u) << "asked once, when there is room";
  EXPECT_EQ(asked[0].stream, wire::kEveryStream);
  EXPECT_EQ(asked[0].sources, IntervalSet::of(1));
  EXPECT_TRUE(was_said("slower than the data"));
  // What was left with the host comes again, and is taken.
  network_.deliver(*session_, link, window_packet(sent, 1, 10, account_row(1, 1, 10 * sent)));
  network_.advance(*session_, kSecond);
  EXPECT_EQ(network_.take_sent_of<wire::Acknowledgement>().size(), 1u);
}

TEST_F(SessionTest, EndsWhenTheStoreHasTakenTheLast) {
  start();
  recorder_.stalls = true;
  finish(3);
  network_.advance(*session_, kSecond);
  EXPECT_FALSE(network_.stopped);
  recorder_.stalls = false;
  network_.readable(*session_, SlowRecorder::kFd);  // What was under way; the last one follows.
  network_.readable(*session_, SlowRecorder::kFd);
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_EQ(store_.ended_with, 3);
}

TEST_F(SessionTest, AsksForWhatOfAMergedPacketIsNew) {
  start();
  const net::LinkId one = join(1);
  const net::LinkId two = join(2);
  network_.deliver(*session_, one, window_packet(1, 1, 10, account_row(1, 1, 10)));
  network_.advance(*session_, 300 * kMillisecond);
  network_.take_sent();
  wire::ProfileWindow both;
  both.accounts = {account_row(1, 1, 10), account_row(2, 1, 20)};
  network_.deliver(*session_, two, window_packet(1, IntervalSet::range(1, 3), both));
  network_.advance(*session_, 300 * kMillisecond);
  for (auto& sent : network_.take_sent()) {
    const auto* ack = std::get_if<wire::Acknowledgement>(&sent.message);
    if (ack == nullptr) continue;
    EXPECT_EQ(sent.link, two);
    ASSERT_EQ(ack->resend.size(), 1u);
    EXPECT_EQ(ack->resend[0].sources, IntervalSet::of(2));
  }
}

TEST_F(SessionTest, PlacesTheTreeWhenTheWorldIsComplete) {
  start("kary:2");
  std::vector<net::LinkId> hosts;
  for (int host = 1; host <= 4; ++host) hosts.push_back(join(host));
  network_.take_sent();
  for (std::uint32_t leaf = 1; leaf <= 4; ++leaf) {
    network_.deliver(*session_, hosts[leaf - 1],
                     registration_packet(leaf, {process_row(1, leaf - 1)}));
  }
  // Four back ends, two internal leaves below the front end.
  std::vector<std::pair<net::LinkId, wire::StartCommProcess>> orders;
  for (auto& sent : network_.take_sent()) {
    if (const auto* order = std::get_if<wire::StartCommProcess>(&sent.message)) {
      orders.emplace_back(sent.link, *order);
    }
  }
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_NE(orders[0].first, orders[1].first) << "two hosts";

  for (const auto& [starter, order] : orders) {
    net::Peer peer;
    peer.accepted = true;
    peer.role = wire::Role::kCommProcess;
    peer.node = order.node;
    peer.level = order.level;
    const net::LinkId link = network_.link_up(*session_, peer);
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
  std::vector<net::LinkId> hosts;
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
  EXPECT_TRUE(was_said("communication process not heard of any more"));
  ASSERT_EQ(store_.notices.size(), 1u);
  EXPECT_EQ(store_.notices[0].first.role, wire::Role::kCommProcess);
  EXPECT_EQ(store_.notices[0].first.text, "lost: it is not heard of any more");
  alive.node = orders[1].node;
  network_.deliver(*session_, hosts[0], alive);
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.nodes.at(orders[1].node).state, "attached");
}

TEST_F(SessionTest, StoresHowAHostsClockStandsOnceThatIsKnown) {
  start();
  const net::LinkId link = join(1);
  wire::LinkReport report;
  report.node = NodeId{1};
  report.error_ns = -1;
  network_.deliver(*session_, link, report);
  network_.advance(*session_, kSecond);
  EXPECT_TRUE(store_.clocks.empty());
  report.offset_ns = -7 * kSecond;
  report.error_ns = kMillisecond;
  network_.deliver(*session_, link, report);
  network_.advance(*session_, kSecond);
  ASSERT_EQ(store_.clocks.size(), 1u);
  EXPECT_EQ(store_.clocks[0].offset_ns, -7 * kSecond);
  EXPECT_EQ(store_.clocks[0].error_ns, kMillisecond);
}

TEST_F(SessionTest, HoldsABoundedAmountForAStoreThatFailsForHours) {
  waiting_bytes_ = 100'000;
  start();
  const net::LinkId link = join(1);
  store_.broken = true;
  std::uint64_t wave = 0;
  for (int second = 0; second < 3600; ++second) {
    wire::LinkReport report;
    report.node = NodeId{1};
    network_.deliver(*session_, link, report);
    ++wave;
    network_.deliver(*session_, link, window_packet(wave, 1, 10, account_row(1, 1, 10 * wave)));
    network_.advance(*session_, kSecond);
  }
  store_.broken = false;
  network_.advance(*session_, 5 * kSecond);
  EXPECT_GT(recorder_.most_rows, 100u);
  EXPECT_LE(recorder_.most_rows, 100'000 / sizeof(storage::Row) + 2);
}

TEST_F(SessionTest, DoesWithoutACommunicationProcessThatDoesNotStart) {
  start("kary:2");
  std::vector<net::LinkId> hosts;
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
  const net::LinkId link = join(1);
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

TEST_F(SessionTest, WaitsForTheRanksOfAWorldThatAreOnTheirWay) {
  start();
  const net::LinkId link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 2)}));
  network_.take_sent();
  finish(0);
  EXPECT_TRUE(network_.take_sent_of<wire::Control>().empty()) << "rank 1 is on its way";
  network_.advance(*session_, 3 * kSecond);
  EXPECT_FALSE(network_.take_sent_of<wire::Control>().empty()) << "not for ever";
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
  const net::LinkId link = join(1);
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
  EXPECT_EQ(store_.notices[0].first.text, "not heard of any more");
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
  const net::LinkId link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 16)}));
  finish(0);
  network_.advance(*session_, 3 * kSecond);
  leave(link);
  EXPECT_NE(session_->outcome().trouble.find("1 of 16 ranks of a world were seen"),
            std::string::npos);
}

TEST_F(SessionTest, TakesAHostBackThatReconnectsWithoutANewReport) {
  start();
  const net::LinkId link = join(1);
  network_.link_down(*session_, link);
  network_.advance(*session_, 12 * kSecond);
  ASSERT_EQ(store_.lost.size(), 1u);
  net::Peer peer;
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

TEST_F(SessionTest, NeedsNoGoodbyeAfterALastWindow) {
  start();
  const net::LinkId link = join(1);
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
  const net::LinkId link = join(1);
  store_.broken = true;
  finish(0);
  for (std::uint64_t wave = 1; wave < 60 && !network_.stopped; ++wave) {
    network_.deliver(*session_, link, window_packet(wave, 1, 10, account_row(1, 1, 10 * wave)));
    network_.advance(*session_, kSecond);
  }
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_NE(session_->outcome().trouble.find("no room left"), std::string::npos);
}

TEST_F(SessionTest, LogsAndStoresWhatOthersLoggedWithTheTimeAtWhichTheyDid) {
  start();
  const auto link = join(3);
  network_.advance(*session_, 10 * kSecond);
  wire::Notice notice;
  notice.host = "node3";
  notice.pid = 812;
  notice.age_ns = 4 * kSecond;
  notice.text = "a process cannot be watched";
  network_.deliver(*session_, link, notice);
  notice.age_ns = 3600 * kSecond;  // Older than the run: from its start.
  network_.deliver(*session_, link, notice);
  network_.advance(*session_, kSecond);
  ASSERT_EQ(store_.notices.size(), 2u);
  EXPECT_EQ(store_.notices[0].first.host, "node3");
  EXPECT_EQ(store_.notices[0].second, 6 * kSecond);
  EXPECT_EQ(store_.notices[1].second, 0);
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(said_[0], "a process cannot be watched from=\"back_end 812 on node3\"");
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

TEST_F(SessionTest, ReportsEachSecondOnItsOwnWayIntoTheStore) {
  start();
  const auto link = join(3);
  const auto began = network_.now;
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0)}));
  recorder_.stalls = true;
  for (int step = 0; step < 10; ++step) network_.advance(*session_, kSecond / 2);
  recorder_.stalls = false;
  network_.readable(*session_, SlowRecorder::kFd);
  for (int step = 0; step < 4; ++step) network_.advance(*session_, kSecond / 2);
  ASSERT_GE(store_.links.size(), 6u);
  for (const auto& [report, at] : store_.links) EXPECT_EQ(report.node, kFrontEndNode);
  const wire::LinkReport& last = store_.links.back().first;
  EXPECT_EQ(last.sent_packets, 1u) << "the registration";
  EXPECT_GT(last.sent_bytes, 0u);
  EXPECT_LE(store_.links.back().second, network_.now - began + kSecond);
  bool took_long = false;
  bool waited = false;
  for (const auto& [report, at] : store_.links) {
    took_long = took_long || report.round_trip_ns >= 4 * kSecond;
    waited = waited || report.queue_bytes > 0;
  }
  EXPECT_TRUE(took_long) << "the commit that stalled";
  EXPECT_TRUE(waited);
}

TEST_F(SessionTest, LogsAndStoresANoticeOnceThatCameTwice) {
  start();
  const auto link = join(3);
  wire::Notice notice;
  notice.host = "node3";
  notice.text = "the disk is full";
  notice.number = 9;
  network_.deliver(*session_, link, notice);
  network_.deliver(*session_, link, notice);
  network_.advance(*session_, kSecond);
  EXPECT_EQ(store_.notices.size(), 1u);
  EXPECT_EQ(said_.size(), 1u);
}

// Starts nothing; says what it is told to.
class FakeLauncher final : public CommProcessLauncher {
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
  const net::LinkId link = join(1);
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

TEST_F(SessionTest, GoesOnWithARunOfAFormerFrontEnd) {
  storage::Past past;
  past.front_ends = 2;
  past.epoch_ns = 12'345;
  past.nodes.push_back({NodeId{4}, wire::Role::kBackEnd, "node1", kFrontEndNode, 1, 9, LeafId{7},
                        "attached", "key1"});
  past_ = past;
  start();
  const net::LinkId known = join(1);
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

net::Peer returning_host(unsigned i) {
  net::Peer peer;
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

TEST_F(SessionTest, WaitsWithItsEndForTheHostsOfAFormerFrontEnd) {
  past_ = past_of(1);
  past_->ended = IntervalSet::of(1);  // Stored, but perhaps not acknowledged.
  start();
  finish(0);
  network_.advance(*session_, kSecond);
  EXPECT_FALSE(network_.stopped) << "it would look for a front end for a minute";
  const net::LinkId link = network_.link_up(*session_, returning_host(1));
  leave(link);
  EXPECT_EQ(network_.stopped, 0);
  EXPECT_EQ(session_->outcome().trouble, "");
  EXPECT_EQ(session_->outcome().ranks, 1u);
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
  net::Peer peer;
  peer.accepted = true;
  peer.role = wire::Role::kBackEnd;
  peer.node = NodeId{3};
  peer.leaf = LeafId{9};
  peer.level = 1;
  peer.host_key = "key1";
  const net::LinkId link = network_.link_up(*session_, peer);
  finish(0);
  network_.advance(*session_, kSecond);
  EXPECT_FALSE(network_.stopped) << "it was not waited for";
  leave(link);
  EXPECT_EQ(network_.stopped, 0);
}

TEST_F(SessionTest, GivesWayToAnotherFrontEndWithoutAnAcknowledgement) {
  start();
  const net::LinkId link = join(1);
  network_.take_sent();
  store_.superseded = true;
  network_.deliver(*session_, link, window_packet(1, 1, 10, account_row(1, 1, 10)));
  network_.advance(*session_, kSecond);
  EXPECT_EQ(network_.stopped, Session::kReplaced);
  EXPECT_TRUE(network_.take_sent_of<wire::Acknowledgement>().empty());
  EXPECT_NE(session_->outcome().trouble, "");
}

}  // namespace
}  // namespace xylem::frontend
