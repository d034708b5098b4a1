// The way of rows into the store, without a tree: the test is the owner of the queue.

#include "frontend/row_queue.h"

#include <gtest/gtest.h>

#include "tests/unit/frontend/session.h"
#include "tests/unit/storage/packets.h"

namespace xylem::frontend {
namespace {

using storage::account_row;
using storage::window_packet;

class RowQueueTest : public ::testing::Test, public RowQueueOwner {
 protected:
  RowQueueTest() {
    EXPECT_TRUE(store_.begin_run({}));
    set_log_sink([this](Level level, std::string_view line) {
      if (level >= Level::kWarn) said_.emplace_back(line);
    });
  }
  ~RowQueueTest() override { set_log_sink({}); }

  void start() {
    queue_.emplace(options_, recorder_, *this);
    queue_->start(0, now_);
  }
  void advance(Nanos by) {
    now_ += by;
    queue_->on_timer(now_);
  }
  /// Adds the window number `wave` of leaf 1.
  void add_window(std::uint64_t wave, bool is_last = false) {
    wire::Packet packet = window_packet(wave, 1, 10, account_row(1, 1, 10 * wave));
    packet.last = is_last;
    queue_->add_packet(std::move(packet), now_);
  }
  std::vector<std::uint64_t> waves_settled() const {
    std::vector<std::uint64_t> waves;
    for (const wire::Acknowledgement& answer : answers_) {
      for (const wire::PacketId& id : answer.stored) waves.push_back(id.wave);
    }
    return waves;
  }

  RowQueueOptions options_;
  FragileStore store_;
  SlowRecorder recorder_{store_};
  std::optional<RowQueue> queue_;
  Nanos now_ = kSecond;
  std::vector<wire::Acknowledgement> answers_;
  IntervalSet ended_;
  int superseded_ = 0;
  std::vector<storage::Recorded> ends_;
  std::vector<std::string> said_;

 private:
  void on_settled(const wire::Acknowledgement& answer, const IntervalSet& ended) override {
    answers_.push_back(answer);
    ended_.insert(ended);
  }
  void on_superseded(const Error&) override { ++superseded_; }
  void on_end_recorded(storage::Recorded done) override { ends_.push_back(std::move(done)); }
};

using Waves = std::vector<std::uint64_t>;

TEST_F(RowQueueTest, SettlesPacketsOnlyAfterTheirCommit) {
  start();
  EXPECT_EQ(queue_->next_write(), kForever);
  add_window(1);
  EXPECT_EQ(queue_->next_write(), now_ + options_.commit_interval);
  EXPECT_TRUE(answers_.empty());
  advance(options_.commit_interval);
  EXPECT_EQ(waves_settled(), Waves{1});
  EXPECT_EQ(queue_->last_progress(), now_);
  EXPECT_EQ(queue_->next_write(), kForever);
}

TEST_F(RowQueueTest, CommitsAtOnceWhenManyBytesWait) {
  options_.commit_bytes = 1;
  start();
  add_window(1);
  EXPECT_EQ(waves_settled(), Waves{1});
}

TEST_F(RowQueueTest, TriesAFailedBatchAgainBeforeLaterRows) {
  start();
  store_.broken = true;
  add_window(1);
  advance(options_.commit_interval);
  add_window(2);
  advance(kSecond);
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(said_.size(), 1u) << "the trouble is said once";
  store_.broken = false;
  advance(kSecond);
  EXPECT_EQ(waves_settled(), Waves{1});
  advance(kSecond);
  EXPECT_EQ(waves_settled(), (Waves{1, 2}));
}

TEST_F(RowQueueTest, TakesNoPacketsWhenItIsFullAndAsksForThemWhenThereIsRoom) {
  options_.waiting_bytes = 1;
  start();
  add_window(1);
  add_window(2);  // Not taken.
  queue_->add(storage::LinkRow{});
  advance(options_.commit_interval);
  EXPECT_EQ(waves_settled(), Waves{1});
  ASSERT_EQ(answers_.size(), 1u);
  ASSERT_EQ(answers_[0].resend.size(), 1u);
  EXPECT_EQ(answers_[0].resend[0].sources, IntervalSet::of(1));
  EXPECT_TRUE(store_.links.empty()) << "samples are dropped meanwhile";
  add_window(2);
  advance(options_.commit_interval);
  EXPECT_EQ(waves_settled(), (Waves{1, 2}));
}

TEST_F(RowQueueTest, WaitsForAFullDiskWithoutLimitUntilTheRunIsEnding) {
  start();
  store_.full = true;
  add_window(1);
  for (int i = 0; i < 100; ++i) {
    advance(kSecond);
    queue_->give_up_if_full(now_);
  }
  EXPECT_TRUE(answers_.empty());
  EXPECT_NE(queue_->next_write(), kForever);
}

TEST_F(RowQueueTest, GivesUpPacketsWhenTheDiskStaysFullWhileTheRunIsEnding) {
  start();
  store_.full = true;
  add_window(1);
  queue_->begin_end(now_);
  queue_->drain(now_);
  advance(0);
  queue_->give_up_if_full(now_);
  EXPECT_TRUE(answers_.empty()) << "someone may free space";
  advance(options_.full_limit);
  EXPECT_EQ(waves_settled(), Waves{1});
  add_window(2, true);
  EXPECT_EQ(waves_settled(), (Waves{1, 2})) << "at once";
  EXPECT_EQ(ended_, IntervalSet::of(1));
  queue_->end(7, now_);
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_FALSE(ends_[0].failure);
  EXPECT_TRUE(store_.uses_its_reserve);
  EXPECT_EQ(store_.ended_with, 7);
}

TEST_F(RowQueueTest, StoresTheEndAfterTheBatchInProgress) {
  start();
  recorder_.stalls = true;
  add_window(1);
  advance(options_.commit_interval);
  EXPECT_EQ(queue_->writing_for(now_ + 5), 5);
  add_window(2);
  queue_->end(0, now_);
  EXPECT_TRUE(ends_.empty());
  recorder_.stalls = false;
  queue_->on_recorded(now_);
  EXPECT_EQ(waves_settled(), Waves{1});
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_EQ(ends_[0].stored.size(), 1u) << "the second packet";
  EXPECT_EQ(store_.ended_with, 0);
}

TEST_F(RowQueueTest, StoresNothingAfterAnotherFrontEndHasTakenOver) {
  start();
  store_.superseded = true;
  add_window(1);
  advance(options_.commit_interval);
  EXPECT_EQ(superseded_, 1);
  store_.superseded = false;
  add_window(2);
  advance(kSecond);
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(superseded_, 1);
}

TEST_F(RowQueueTest, ReportsWhatWaitsAndTheLongestCommit) {
  start();
  recorder_.stalls = true;
  add_window(1);
  advance(options_.commit_interval);
  add_window(2);
  now_ += 3 * kSecond;
  wire::LinkReport report = queue_->take_report(now_);
  EXPECT_GT(report.queue_bytes, 0u);
  EXPECT_EQ(report.sent_packets, 0u);
  EXPECT_EQ(report.round_trip_ns, 3 * kSecond);
  recorder_.stalls = false;
  queue_->on_recorded(now_);
  report = queue_->take_report(now_);
  EXPECT_EQ(report.sent_packets, 1u);
  EXPECT_EQ(report.round_trip_ns, 3 * kSecond);
  EXPECT_EQ(queue_->take_report(now_).round_trip_ns, 0) << "since the last report";
}

}  // namespace
}  // namespace xylem::frontend
