#include "backend/agent/collector.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <memory>
#include <tuple>

#include "tests/support/hand_made_segment.h"
#include "wire/tombstone.h"

namespace xylem::backend {
namespace {

using testing::HandMadeCall;
using testing::HandMadeSegment;

constexpr std::uint16_t kWaitall = 3;
constexpr Lane kLane{1};

/// A collector of one process. The test sets its clock.
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

  /// Writes a call that completed some receives, with a record for each receive.
  void wait_for_all(int completions, std::uint64_t duration = 900) {
    HandMadeCall call;
    call.function = kWaitall;
    call.begin = call_end_ + 100;
    call.end = call_end_ = call.begin + duration;
    process_.write(0, call);
    call.calls = 0;
    call.flags = capture::kRecordPart | capture::kRecordReceive;
    for (int i = 0; i < completions; ++i) {
      call.peer = i % kPeers;
      process_.write(0, call);
    }
  }

  /// Returns the number of records that the next look finds.
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
  static constexpr int kPeers = 900;  // Their waits fit into the smallest journal.
  Nanos now_ = 5 * kSecond;
  std::uint64_t call_end_ = 1 * kSecond;
  testing::Memory memory_;
  Journal journal_;
  HandMadeSegment process_{kRingRecords};
  std::unique_ptr<Collector> collector_;
};

TEST_F(CollectorTest, AProcessLearnsWhetherTheRunStoresATrace) {
  EXPECT_EQ(process_.header().is_untraced.load(), 1u);
  wire::Control control;
  control.version = 2;
  control.window_ns = 10 * kSecond;
  control.enabled = true;
  control.chunks = true;
  collector_->configure(LeafId{1}, control);
  EXPECT_EQ(process_.header().is_untraced.load(), 0u);
  control.version = 3;
  control.chunks = false;
  collector_->configure(LeafId{1}, control);
  EXPECT_EQ(process_.header().is_untraced.load(), 1u);
}

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

TEST_F(CollectorTest, CompletionsThatAreReadInPartsShareTheTimeOfTheirCall) {
  constexpr int kCompletions = 2500;
  static_assert(kCompletions > 2 * WindowBuilder::kLargestGroup);
  wait_for_all(kCompletions, kCompletions * 1000);
  for (int drains = 0; drains < 3; ++drains) left_over();
  const wire::ProfileWindow window = seal();
  ASSERT_EQ(window.waits.size(), std::size_t{kPeers});
  for (const wire::WaitRow& wait : window.waits) {
    EXPECT_EQ(wait.calls, raw(wait.peer) < kCompletions % kPeers ? 3u : 2u);
    EXPECT_EQ(wait.time_ns, 1000 * wait.calls) << "peer " << raw(wait.peer);
  }
}

TEST_F(CollectorTest, AnEndedProcesssCompletionsAreNotCutByABatch) {
  wait_for_all(200);
  wait_for_all(200);  // Crosses the end of the first batch of records.
  const wire::ProfileWindow window = seal();
  ASSERT_EQ(window.waits.size(), 200u);
  for (const wire::WaitRow& wait : window.waits) EXPECT_EQ(wait.time_ns, 2u * (900 / 200));
}

/// While one of these lives, no mapping of more than a few MiB succeeds.
class ShortOfAddressSpace {
 public:
  ShortOfAddressSpace() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    constexpr rlim_t kSpare = 32u << 20;
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit now{pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kSpare,
                     before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &now), 0);
  }
  ~ShortOfAddressSpace() { ::setrlimit(RLIMIT_AS, &before_); }
  ShortOfAddressSpace(const ShortOfAddressSpace&) = delete;
  ShortOfAddressSpace& operator=(const ShortOfAddressSpace&) = delete;

 private:
  rlimit before_{};
};

/// A process whose rings are too large for the free address space. Only one ring is mapped.
class UnmappableRingTest : public CollectorTest {
 protected:
  static constexpr Lane kLarge{2};
  static constexpr std::uint32_t kLargeRing = 1u << 20;
  static constexpr std::uint16_t kSend = 1, kTest = 2;

  void begin(bool chunks) {
    wire::Control control;
    control.version = 2;
    control.window_ns = 10 * kSecond;
    control.enabled = true;
    control.chunks = chunks;
    collector_->configure(LeafId{1}, control);
    large_.enter_world(0, 1);
    collector_->add(kLarge, large_.view(), false, now_);
    write(0, kSend, 3);
    std::ignore = collector_->drain(now_);
  }
  void write(std::uint32_t ring, std::uint16_t function, int calls) {
    for (int i = 0; i < calls; ++i)
      large_.write(ring, {.function = function, .begin = 1 * kSecond, .end = 1 * kSecond + 10});
  }
  void end_process() {
    large_.header().state.store(capture::ProcessState::kExited);
    collector_->process_ended(kLarge);
  }
  /// Drains until the process is accounted for. Gives up after much more time than this may take.
  bool finishes() {
    for (int i = 0; i < 100; ++i) {
      std::ignore = collector_->drain(now_);
      for (const Lane lane : collector_->take_finished()) {
        if (lane == kLarge) return true;
      }
      now_ += 100 * kMillisecond;
    }
    return false;
  }
  void read_journal() {
    for (const PacketKey& key : journal_.keys()) {
      const wire::Packet packet = journal_.read(key);
      if (packet.tombstone) {
        const auto tombstone = wire::decode_tombstone(packet.payload);
        ASSERT_TRUE(tombstone);
        reason_ = tombstone->reason;
        for (const wire::LaneCalls& row : tombstone->lanes) {
          if (row.lane == kLarge) lost_ += row.calls;
        }
        if (key.stream == wire::kChunkStream) {
          EXPECT_EQ(key.lane, kLarge);
          lost_events_ += packet.id.wave_end - packet.id.wave;
          lost_event_calls_ += tombstone->calls;
        }
      } else if (key.stream == wire::kWindowStream) {
        const auto window = wire::decode_profile_window(packet.payload);
        ASSERT_TRUE(window);
        for (const wire::ProfileRow& row : window->rows) {
          if (row.lane == kLarge) stored_[raw(row.function)] += row.calls;
        }
        for (const wire::AccountRow& row : window->accounts) {
          if (row.lane == kLarge) account_ = row;
        }
      }
    }
  }

  HandMadeSegment large_{kLargeRing};
  std::map<std::uint16_t, std::uint64_t> stored_;
  std::uint64_t lost_ = 0, lost_events_ = 0, lost_event_calls_ = 0;
  std::string reason_;
  wire::AccountRow account_;
};

TEST_F(UnmappableRingTest, CallsOfRecordsThatNobodyReadAreLostWithAReason) {
  begin(false);
  const ShortOfAddressSpace no_more;
  write(1, kSend, 5);
  write(1, kTest, 2);
  large_.count(1, kTest);                         // A sampled call without a record yet.
  large_.ring_at(0).inner_calls[kTest].store(4);  // Calls that never have records.
  end_process();
  EXPECT_TRUE(finishes());
  read_journal();
  EXPECT_EQ(stored_, (std::map<std::uint16_t, std::uint64_t>{{kSend, 3}, {kTest, 4}}));
  EXPECT_EQ(lost_, 8u);
  EXPECT_NE(reason_.find("cannot map"), std::string::npos) << reason_;
  EXPECT_EQ(account_.captured, 15u);
  EXPECT_EQ(account_.windowed, 15u);
  EXPECT_TRUE(account_.ended);
}

TEST_F(UnmappableRingTest, EventsThatNobodyReadAreLostWithAReason) {
  begin(true);
  const ShortOfAddressSpace no_more;
  write(1, kSend, 5);
  write(2, kTest, 2);
  end_process();
  EXPECT_TRUE(finishes());
  read_journal();
  EXPECT_EQ(lost_, 7u);
  EXPECT_EQ(lost_events_, 7u);
  EXPECT_EQ(lost_event_calls_, 7u);
  EXPECT_EQ(account_.events, 10u);
  EXPECT_EQ(account_.event_calls, 10u);
}

TEST_F(UnmappableRingTest, AddressSpaceThatComesBackSoonComesInTime) {
  begin(false);
  {
    const ShortOfAddressSpace no_more;
    write(1, kSend, 5);
    end_process();
    std::ignore = collector_->drain(now_);
    EXPECT_FALSE(collector_->is_idle());
  }
  now_ += 100 * kMillisecond;
  EXPECT_TRUE(finishes());
  read_journal();
  EXPECT_EQ(stored_, (std::map<std::uint16_t, std::uint64_t>{{kSend, 8}}));
  EXPECT_EQ(lost_, 0u);
}

TEST_F(UnmappableRingTest, NothingIsLostTwiceWhenAWorkerDiesOverIt) {
  begin(true);
  const ShortOfAddressSpace no_more;
  write(1, kSend, 5);
  end_process();
  EXPECT_TRUE(finishes());
  read_journal();
  const std::uint64_t lost = lost_, events = lost_events_;
  large_.header().agent_finished = 0;  // As if the worker had died before it wrote so.
  Journal reopened = *Journal::open(memory_.bytes());
  Collector successor({}, reopened);
  successor.add(kLarge, large_.view(), true, now_);
  EXPECT_EQ(successor.take_finished(), std::vector<Lane>{kLarge});
  EXPECT_EQ(lost, 5u);
  EXPECT_EQ(events, 5u);
}

}  // namespace
}  // namespace xylem::backend
