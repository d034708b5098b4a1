#include "storage/write/recorder.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <future>

#include "tests/unit/storage/packets.h"

namespace xylem::storage {
namespace {

// Wraps a store in memory. The test lets commits fail or wait.
class GatedStore final : public Store {
 public:
  std::optional<Error> failure;
  std::shared_future<void> gate;
  bool prepared = false;

  Result<void> begin_run(const RunFacts& facts) override { return inner_->begin_run(facts); }
  Result<PutOutcome> put(const wire::Packet& packet) override { return inner_->put(packet); }
  Result<void> put_node(const NodeRow& node) override { return inner_->put_node(node); }
  Result<void> put_clock(const ClockRow& clock) override { return inner_->put_clock(clock); }
  Result<void> put_link(const wire::LinkReport& report, Nanos at) override {
    return inner_->put_link(report, at);
  }
  Result<void> put_host_facts(const wire::HostFacts& host, Nanos at) override {
    return inner_->put_host_facts(host, at);
  }
  Result<void> put_notice(const wire::Notice& notice, Nanos at) override {
    return inner_->put_notice(notice, at);
  }
  Result<void> put_host_lost(LeafId leaf, const std::string& reason) override {
    return inner_->put_host_lost(leaf, reason);
  }
  std::size_t pending_bytes() const override { return inner_->pending_bytes(); }
  Result<void> commit() override {
    if (gate.valid()) gate.wait();
    if (failure) return unexpected(*failure);
    return inner_->commit();
  }
  void prepare_to_end() override { prepared = true; }
  Result<void> end_run(int exit_code, Nanos ended) override {
    return inner_->end_run(exit_code, ended);
  }
  Result<std::vector<AccountLine>> account() override { return inner_->account(); }
  Result<std::vector<AccountLine>> pending_account() override { return inner_->pending_account(); }

 private:
  std::unique_ptr<Store> inner_ = make_memory_store();
};

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() { EXPECT_TRUE(store_.begin_run({})); }

  static Batch batch_of(std::uint64_t wave) {
    Batch batch;
    batch.rows.emplace_back(window_packet(wave, 1, 10, account_row(1, 1, 10 * wave)));
    return batch;
  }

  GatedStore store_;
};

bool is_readable(int fd, int patience_ms) {
  pollfd poll{fd, POLLIN, 0};
  return ::poll(&poll, 1, patience_ms) == 1;
}

TEST_F(RecorderTest, TellsWhatIsStoredOnceAndOverTheDescriptor) {
  auto recorder = make_thread_recorder(store_);
  ASSERT_TRUE(recorder);
  for (std::uint64_t wave = 1; wave <= 100; ++wave) {
    (*recorder)->record(batch_of(wave));
    ASSERT_TRUE(is_readable((*recorder)->fd(), 10'000));
    const auto done = (*recorder)->take();
    ASSERT_TRUE(done);
    ASSERT_EQ(done->stored.size(), 1u);
    EXPECT_EQ(done->stored[0].wave, wave);
    EXPECT_FALSE((*recorder)->take());
    EXPECT_FALSE(is_readable((*recorder)->fd(), 0));
  }
}

TEST_F(RecorderTest, DoesNotMakeItsCallerWaitForTheStore) {
  std::promise<void> gate;
  store_.gate = gate.get_future().share();
  auto recorder = make_thread_recorder(store_);
  ASSERT_TRUE(recorder);
  (*recorder)->record(batch_of(1));
  EXPECT_FALSE((*recorder)->take());
  gate.set_value();
  EXPECT_TRUE(is_readable((*recorder)->fd(), 10'000));
  EXPECT_TRUE((*recorder)->take());
}

TEST_F(RecorderTest, FinishesTheBatchUnderWayWhenItIsDestroyed) {
  {
    auto recorder = make_thread_recorder(store_);
    ASSERT_TRUE(recorder);
    Batch batch = batch_of(1);
    batch.rows.emplace_back(registration_packet(1, {process_row(1, 0, 1, 1)}));
    (*recorder)->record(std::move(batch));
  }
  const auto account = store_.account();
  ASSERT_TRUE(account);
  ASSERT_EQ(account->size(), 1u);
  EXPECT_EQ((*account)[0].captured, 10u);
}

TEST_F(RecorderTest, GivesTheBatchBackWhenTheCommitFails) {
  store_.failure = Error{Code::kExhausted, "no room"};
  const Recorded failed = record_now(store_, batch_of(1));
  ASSERT_TRUE(failed.failure);
  EXPECT_EQ(failed.failure->message, "no room");
  EXPECT_TRUE(failed.stored.empty());
  EXPECT_TRUE(failed.ended.empty());
  ASSERT_EQ(failed.batch.rows.size(), 1u);
  store_.failure.reset();
  EXPECT_EQ(record_now(store_, failed.batch).stored.size(), 1u);
}

TEST_F(RecorderTest, RefusesAPacketThatNoLeafMadeAndStoresTheRest) {
  Batch batch;
  wire::Packet stranger = window_packet(1, 1, 10, account_row(1, 1, 10));
  stranger.id.stream = StreamId{77};
  batch.rows.emplace_back(std::move(stranger));
  batch.rows.emplace_back(window_packet(1, 1, 10, account_row(1, 1, 10)));
  const Recorded done = record_now(store_, std::move(batch));
  EXPECT_EQ(done.refused.size(), 1u);
  EXPECT_EQ(done.stored.size(), 1u);
  EXPECT_FALSE(done.failure);
}

TEST_F(RecorderTest, NamesTheLeavesWhoseLastWindowIsStored) {
  Batch batch = batch_of(1);
  wire::Packet last = window_packet(2, 5, 10, account_row(1, 1, 10));
  last.last = true;
  batch.rows.emplace_back(std::move(last));
  EXPECT_EQ(record_now(store_, std::move(batch)).ended, IntervalSet::of(5));
}

TEST_F(RecorderTest, EndsTheRunWithTheLastBatchThoughItCannotBeStored) {
  store_.failure = Error{Code::kExhausted, "no room"};
  Batch batch = batch_of(1);
  batch.gives_up = true;
  batch.end = RunEnd{7, 1};
  const Recorded done = record_now(store_, std::move(batch));
  EXPECT_TRUE(store_.prepared);
  EXPECT_TRUE(done.failure);
  EXPECT_TRUE(done.batch.rows.empty());
  EXPECT_FALSE(done.end_failure);
}

TEST_F(RecorderTest, TellsTheAccountThatCouldNotBeStored) {
  store_.failure = Error{Code::kExhausted, "no room"};
  Batch batch;
  batch.rows.emplace_back(registration_packet(1, {process_row(1, 0)}));
  batch.rows.emplace_back(
      wire::make_tombstone(window_packet(1, 1, 10, account_row(1, 1, 10, true)), "no room"));
  batch.gives_up = true;
  batch.end = RunEnd{7, 1};
  const Recorded done = record_now(store_, std::move(batch));
  EXPECT_TRUE(done.failure);
  EXPECT_FALSE(done.account_is_stored);
  EXPECT_EQ(done.account, (std::vector<AccountLine>{{WorldId{0}, Rank{0}, 10, 0, 10, true}}));
}

}  // namespace
}  // namespace xylem::storage
