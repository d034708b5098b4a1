// A session and its store: what is acknowledged, asked for again, held back, noted.

#include <gtest/gtest.h>

#include "tests/unit/frontend/session.h"
#include "tests/unit/storage/packets.h"
#include "wire/waves.h"

namespace xylem::frontend {
namespace {

using storage::account_row;
using storage::process_row;
using storage::registration_packet;
using storage::window_packet;

TEST_F(SessionTest, AcknowledgesOnlyAfterTheCommit) {
  start();
  const overlay::LinkId link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 1)}));
  network_.deliver(*session_, link, window_packet(1, 1, 10, account_row(1, 1, 10)));
  EXPECT_TRUE(network_.take_sent_of<wire::Acknowledgement>().empty());
  network_.advance(*session_, 250 * kMillisecond);
  const auto acks = network_.take_sent_of<wire::Acknowledgement>();
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(acks[0].stored.size(), 2u);
}

TEST_F(SessionTest, AcknowledgesAtOnceWhenTheRunIsOver) {
  start();
  const overlay::LinkId link = join(1);
  network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 1)}));
  network_.advance(*session_, 250 * kMillisecond);  // Just before the end there was a commit.
  finish(0);
  network_.take_sent();
  for (std::uint32_t wave = 1; wave <= 3; ++wave) {
    network_.deliver(*session_, link, window_packet(wave, 1, 10, account_row(1, 1, 10 * wave)));
    network_.advance(*session_, 2 * kMillisecond);
    EXPECT_EQ(network_.take_sent_of<wire::Acknowledgement>().size(), 1u) << "of wave " << wave;
  }
}

TEST_F(SessionTest, AcknowledgesADuplicateToo) {
  start();
  const overlay::LinkId link = join(1);
  for (int i = 0; i < 2; ++i) {
    network_.deliver(*session_, link, window_packet(1, 1, 10, account_row(1, 1, 10)));
    network_.advance(*session_, 300 * kMillisecond);
    EXPECT_EQ(network_.take_sent_of<wire::Acknowledgement>().size(), 1u) << i;
  }
}

class StreamsOfARun : public SessionTest {
 protected:
  StreamsOfARun() {
    wire::StreamSpec spec;
    spec.id = wire::kFirstStoredStream;
    spec.name = "energy";
    spec.aggregation = "sum";
    streams_ = {spec};
  }
  static wire::Packet waves(std::uint64_t first, const IntervalSet& sources, std::size_t count) {
    const std::vector<wire::Fields> fields(count, wire::Fields{{1, std::int64_t{1}}});
    return wire::Packet({wire::kFirstStoredStream, kLeafLane, first, first + count, sources},
                        wire::encode_waves(fields));
  }
};

TEST_F(StreamsOfARun, AreToldToEveryNodeAndStoredBeforeTheyAreAcknowledged) {
  start();
  const overlay::LinkId link = join(1);
  const auto controls = network_.take_sent_of<wire::Control>();
  ASSERT_FALSE(controls.empty());
  EXPECT_EQ(controls.back().streams, streams_);
  network_.deliver(*session_, link, waves(0, IntervalSet::of(1), 3));
  EXPECT_TRUE(network_.take_sent_of<wire::Acknowledgement>().empty());
  network_.advance(*session_, 250 * kMillisecond);
  const auto acks = network_.take_sent_of<wire::Acknowledgement>();
  ASSERT_EQ(acks.size(), 1u);
  IntervalSet stored;
  for (const wire::PacketId& id : acks[0].stored) stored.insert(id.wave, id.wave_end);
  EXPECT_EQ(stored, IntervalSet::range(0, 3));
}

TEST_F(StreamsOfARun, WavesOfWhichALeafIsKnownAreAskedForAgainAlone) {
  start();
  const overlay::LinkId first = join(1), second = join(2);
  network_.deliver(*session_, first, waves(0, IntervalSet::of(1), 1));
  network_.deliver(*session_, second, waves(0, IntervalSet::range(1, 3), 2));
  network_.advance(*session_, 250 * kMillisecond);
  std::vector<wire::PacketId> again, stored;
  for (const auto& ack : network_.take_sent_of<wire::Acknowledgement>()) {
    again.insert(again.end(), ack.resend.begin(), ack.resend.end());
    stored.insert(stored.end(), ack.stored.begin(), ack.stored.end());
  }
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].wave, 0u);
  EXPECT_EQ(again[0].sources, IntervalSet::of(2));
  EXPECT_GE(stored.size(), 2u);
}

TEST_F(StreamsOfARun, ALeafThatHasStoredItsLastAccountIsNotAwaited) {
  start();
  const overlay::LinkId link = join(1);
  const wire::Fields account{
      {wire::kAccountStreams, std::vector<std::uint64_t>{raw(wire::kFirstStoredStream)}},
      {wire::kAccountSent, std::vector<std::uint64_t>{0}}};
  wire::Packet last({wire::kStreamAccountStream, kLeafLane, 0, 1, IntervalSet::of(1)},
                    wire::encode_waves({&account, 1}));
  last.last = true;
  network_.deliver(*session_, link, std::move(last));
  network_.advance(*session_, 250 * kMillisecond);
  network_.link_down(*session_, link);  // Without a goodbye.
  network_.advance(*session_, 60 * kSecond);
  EXPECT_TRUE(store_.lost.empty());
}

TEST_F(StreamsOfARun, AHostThatCannotTakePartIsSaidAndNoted) {
  start();
  const overlay::LinkId link = join(1);
  network_.deliver(
      *session_, link,
      wire::StreamRefused{wire::kFirstStoredStream, NodeId{1}, "node1", "no such file"});
  network_.advance(*session_, kSecond);
  EXPECT_TRUE(was_said("cannot take part in a stream"));
  ASSERT_EQ(store_.notices.size(), 1u);
  EXPECT_EQ(store_.notices[0].first.text, "cannot take part in the stream energy: no such file");
}

TEST_F(SessionTest, AcknowledgesNothingWhileTheStoreFailsAndSaysSoOnce) {
  start();
  const overlay::LinkId link = join(1);
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
  EXPECT_TRUE(was_said("can be written again"));
}

class FullStore : public SessionTest {
 protected:
  // A rank that has made 30 calls: 10 are stored before the disk is full.
  overlay::LinkId store_some_and_fill_the_disk() {
    start();
    const overlay::LinkId link = join(1);
    network_.deliver(*session_, link, registration_packet(1, {process_row(1, 0, 1, 1)}));
    network_.deliver(*session_, link, window_packet(1, 1, 10, account_row(1, 1, 10)));
    network_.advance(*session_, kSecond);
    EXPECT_EQ(network_.take_sent_of<wire::Acknowledgement>().size(), 1u);
    store_.full = true;
    network_.deliver(*session_, link, window_packet(2, 1, 15, account_row(1, 1, 25)));
    network_.advance(*session_, 3 * kSecond);
    return link;
  }
  std::vector<std::uint64_t> acknowledged_waves() {
    std::vector<std::uint64_t> waves;
    for (const auto& ack : network_.take_sent_of<wire::Acknowledgement>()) {
      for (const wire::PacketId& id : ack.stored) waves.push_back(id.wave);
    }
    return waves;
  }
  void send_last_and_leave(overlay::LinkId link) {
    wire::Packet last = window_packet(3, 1, 5, account_row(1, 1, 30, true));
    last.last = true;
    network_.deliver(*session_, link, last);
    EXPECT_EQ(acknowledged_waves(), std::vector<std::uint64_t>{3});
    leave(link);
    network_.advance(*session_, kSecond);
    EXPECT_EQ(network_.stopped, 0);
  }
  const std::vector<storage::AccountLine> whole_{{WorldId{0}, Rank{0}, 30, 10, 20, true}};
};

TEST_F(FullStore, AtTheEndOfTheRunIsWaitedForAMomentAndThenWhatComesIsCountedAsLost) {
  const overlay::LinkId link = store_some_and_fill_the_disk();
  EXPECT_TRUE(acknowledged_waves().empty()) << "while the job runs the host keeps its data";
  finish(0);
  network_.advance(*session_, 900 * kMillisecond);
  EXPECT_TRUE(acknowledged_waves().empty());
  network_.advance(*session_, kSecond);
  EXPECT_EQ(acknowledged_waves(), std::vector<std::uint64_t>{2});
  EXPECT_TRUE(was_said("counted as lost"));
  send_last_and_leave(link);
  EXPECT_TRUE(store_.uses_its_reserve);
  EXPECT_EQ(session_->outcome().account, whole_);
  EXPECT_EQ(session_->outcome().trouble, "");
  EXPECT_EQ(session_->outcome().unstored, "");
  EXPECT_EQ(*store_.account(), whole_);
}

TEST_F(FullStore, ThatTakesNotEvenTheEndLeavesATrueAccountWithTheOutcome) {
  const overlay::LinkId link = store_some_and_fill_the_disk();
  store_.broken = true;
  finish(0);
  network_.advance(*session_, 2 * kSecond);
  EXPECT_EQ(acknowledged_waves(), std::vector<std::uint64_t>{2});
  send_last_and_leave(link);
  EXPECT_EQ(session_->outcome().account, whole_);
  EXPECT_EQ(session_->outcome().unstored, "no room left on its disk");
}

TEST_F(FullStore, ThatHasRoomAgainInTimeStoresAll) {
  const overlay::LinkId link = store_some_and_fill_the_disk();
  finish(0);
  network_.advance(*session_, 100 * kMillisecond);
  store_.full = false;
  network_.advance(*session_, 2 * kSecond);
  EXPECT_EQ(acknowledged_waves(), std::vector<std::uint64_t>{2});
  EXPECT_FALSE(was_said("counted as lost"));
  leave(link);
}

TEST_F(SessionTest, ServesTheTreeWhileTheStoreStalls) {
  start();
  const overlay::LinkId link = join(1);
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
  const overlay::LinkId link = join(1);
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
  EXPECT_TRUE(was_said("the store is too slow"));
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
  const overlay::LinkId one = join(1);
  const overlay::LinkId two = join(2);
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

TEST_F(SessionTest, StoresHowAHostsClockStandsOnceThatIsKnown) {
  start();
  const overlay::LinkId link = join(1);
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
  const overlay::LinkId link = join(1);
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
  EXPECT_GT(recorder_.max_rows, 100u);
  EXPECT_LE(recorder_.max_rows, 100'000 / sizeof(storage::Row) + 2);
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

TEST_F(SessionTest, GivesWayToAnotherFrontEndWithoutAnAcknowledgement) {
  start();
  const overlay::LinkId link = join(1);
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
