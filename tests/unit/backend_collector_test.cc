#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "backend/collector.h"
#include "tests/support/hand_made_segment.h"

namespace xylem::backend {
namespace {

using testing::HandMadeCall;
using testing::HandMadeSegment;

constexpr std::uint16_t kWaitall = 3;
constexpr Lane kLane{1};

/// A collector of one process, whose clock stands where the test puts it.
class CollectorTest : public ::testing::Test {
 protected:
  CollectorTest() : memory_(Journal::kSmallest), journal_(*Journal::open(memory_.bytes())) {
    process_.enter_world(0, 1);
    CollectorOptions options;
    options.clock = [this] { return now_; };
    collector_ = std::make_unique<Collector>(options, journal_);
    collector_->add(kLane, process_.view(), false, now_);
    wire::Control control;
    control.version = 1;
    control.window_ns = 10 * kSecond;
    control.enabled = true;
    collector_->configure(LeafId{1}, control);
  }

  /// A call that completed some receives, and a record of each.
  void wait_for_all(int completions) {
    HandMadeCall call;
    call.function = kWaitall;
    call.begin = call_end_ + 100;
    call.end = call_end_ = call.begin + 900;
    process_.write(0, call);
    call.kind = capture::RecordKind::kCompletion;
    call.calls = 0;
    call.flags = capture::kRecordReceive;
    for (int i = 0; i < completions; ++i) {
      call.peer = i;
      process_.write(0, call);
    }
  }

  /// How many records wait after a look, by what the next look finds.
  double left_over() {
    std::ignore = collector_->drain(now_);
    return collector_->drain(now_).fill * kRingRecords;
  }

  wire::ProfileWindow seal() {
    process_.header().state.store(capture::ProcessState::kExited);
    collector_->process_ended(kLane);
    while (collector_->flush(now_).unfinished) {
    }
    wire::ProfileWindow all;
    for (const PacketKey& key : journal_.keys()) {
      if (key.stream != wire::kWindowStream) continue;
      const auto window = wire::decode_profile_window(journal_.read(key).payload);
      EXPECT_TRUE(window);
      all.rows.insert(all.rows.end(), window->rows.begin(), window->rows.end());
      all.waits.insert(all.waits.end(), window->waits.begin(), window->waits.end());
    }
    return all;
  }

  static constexpr std::uint32_t kRingRecords = 8192;
  Nanos now_ = 5 * kSecond;
  std::uint64_t call_end_ = 1 * kSecond;
  testing::Memory memory_;
  Journal journal_;
  HandMadeSegment process_{kRingRecords};
  std::unique_ptr<Collector> collector_;
};

TEST_F(CollectorTest, OneDrainReadsAllThatWaitsButTheLastCallsCompletions) {
  for (int i = 0; i < 300; ++i) wait_for_all(12);
  EXPECT_EQ(left_over(), 12);
}

TEST_F(CollectorTest, CompletionsThatAreMoreThanABatchShareTheTimeOfTheirCall) {
  constexpr int kCompletions = 900;
  for (int i = 0; i < 3; ++i) wait_for_all(kCompletions);
  EXPECT_EQ(left_over(), kCompletions);
  EXPECT_EQ(left_over(), 0) << "what did not grow between two drains is whole";
  const wire::ProfileWindow window = seal();
  ASSERT_EQ(window.waits.size(), std::size_t{kCompletions});
  for (const wire::WaitRow& wait : window.waits) {
    EXPECT_EQ(wait.calls, 3u);
    EXPECT_EQ(wait.time_ns, 3u * (900 / kCompletions)) << "peer " << raw(wait.peer);
  }
}

TEST_F(CollectorTest, AnEndedProcesssCompletionsAreNotCutByABatch) {
  wait_for_all(200);
  wait_for_all(200);  // Over the end of a first batch of records.
  const wire::ProfileWindow window = seal();
  ASSERT_EQ(window.waits.size(), 200u);
  for (const wire::WaitRow& wait : window.waits) EXPECT_EQ(wait.time_ns, 2u * (900 / 200));
}

}  // namespace
}  // namespace xylem::backend
