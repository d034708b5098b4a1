// Programs with random calls of all lengths: for each thread, the time in a window is at most the
// window, and the sum over all windows is the sum over all calls, to the nanosecond.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/moment_host.h"
#include "wire/chunk.h"

namespace xylem::backend {
namespace {

using testing::MomentHost;

// Each thread has functions of its own.
constexpr std::uint16_t kFunctionsPerThread = 8;
constexpr std::uint16_t kPolled = 4;   // Only some calls of it are timed.
constexpr std::uint16_t kCounted = 5;  // A call without record, just before the process dies.

struct Variety {
  std::uint32_t threads = 1;
  bool samples = false;
  bool replaces = false;  ///< The agent's worker dies now and then.
  bool learns = false;    ///< The offset to the front end's clock changes.
  bool dies = false;      ///< The process dies in a call.
  bool by_ticks = false;  ///< Times are ticks of a counter, which the agent converts.
  /// As many calls, but in a minute with windows of 250 ms. So the clocks bend a hundred times, and
  /// an agent is replaced while they do.
  bool is_long = false;
  bool journal_is_small = false;  ///< It is full until the front end takes packets.
  std::size_t budget = 200'000;
  std::uint32_t ring_records = testing::kUnlimitedRing;
};

/// A thread makes calls of all lengths, with pauses of all lengths.
class RandomThread {
 public:
  RandomThread(std::uint32_t number, const Variety& variety, Nanos now)
      : number_(number),
        samples_(variety.samples),
        scale_(variety.is_long ? 1000 : 1),
        next_(now) {}

  Nanos next() const { return next_; }
  bool is_in_call() const { return in_call_; }

  void step(MomentHost& host, std::mt19937_64& random) {
    if (in_call_) {
      host.finish(number_, std::exchange(pending_, 0) + 1);
      in_call_ = false;
      next_ += any_length(random);
      return;
    }
    if (samples_ && random() % 3 == 0) {  // Calls that are not timed, one after the other.
      host.process().count(number_, own(kPolled));
      ++pending_;
      next_ += scale_ * (1 + static_cast<Nanos>(random() % 20'000));
      return;
    }
    // A record stands for calls of its own function only.
    const auto function = pending_ != 0 ? kPolled : static_cast<std::uint16_t>(random() % 4);
    host.begin(number_, own(function), static_cast<std::int32_t>(random() % 8) - 1);
    in_call_ = true;
    next_ += any_length(random);
  }

 private:
  std::uint16_t own(std::uint16_t function) const {
    return static_cast<std::uint16_t>(number_ * kFunctionsPerThread + function);
  }
  Nanos any_length(std::mt19937_64& random) const {
    static constexpr Nanos kLengths[] = {20, 300, 5'000, 80'000, 400'000, 1'500'000, 5'000'000};
    const auto max = static_cast<std::uint64_t>(scale_ * kLengths[random() % std::size(kLengths)]);
    return 1 + static_cast<Nanos>(random() % max);
  }

  std::uint32_t number_;
  bool samples_;
  Nanos scale_;
  Nanos next_;
  bool in_call_ = false;
  std::uint32_t pending_ = 0;
};

/// Returns the number of threads that were in a call at the end.
std::size_t run_program(MomentHost& host, const Variety& variety, std::mt19937_64& random) {
  std::vector<RandomThread> threads;
  for (std::uint32_t t = 0; t < variety.threads; ++t)
    threads.emplace_back(t, variety, host.now + 1 + static_cast<Nanos>(random() % 1000));
  const Nanos end = host.now + (variety.is_long ? 60 * kSecond : 60 * kMillisecond);
  const Nanos longest_pause = variety.is_long ? 750 * kMillisecond : 3 * kMillisecond;
  const Nanos worst_offset = variety.is_long ? 2 * kMillisecond : 100 * kMicrosecond;
  Nanos next_drain = host.now;
  const auto in_call = [&] {
    return std::count_if(threads.begin(), threads.end(),
                         [](const RandomThread& t) { return t.is_in_call(); });
  };
  while (host.now < end || (!variety.dies && in_call() != 0)) {
    auto first =
        std::min_element(threads.begin(), threads.end(), [&](const auto& a, const auto& b) {
          // After the end only calls that are under way go on.
          const bool a_over = host.now >= end && !a.is_in_call();
          const bool b_over = host.now >= end && !b.is_in_call();
          return a_over != b_over ? b_over : a.next() < b.next();
        });
    if (next_drain <= first->next()) {
      host.now = std::max(host.now, next_drain);
      if (variety.learns && random() % 4 == 0)
        host.offset += static_cast<Nanos>(random() % static_cast<std::uint64_t>(2 * worst_offset)) -
                       worst_offset;
      if (variety.replaces && random() % 8 == 0) host.start();
      host.drain();
      if (random() % 8 == 0) host.acknowledge();
      next_drain =
          host.now + 1 + static_cast<Nanos>(random() % static_cast<std::uint64_t>(longest_pause));
    } else {
      host.now = std::max(host.now, first->next());
      first->step(host, random);
    }
  }
  const auto left = static_cast<std::size_t>(in_call());
  host.now += 100;
  if (variety.dies) host.process().count(0, kCounted);
  host.end();
  return left;
}

void check(const MomentHost& host, const Variety& variety, std::size_t left_in_calls) {
  std::map<std::uint16_t, std::uint64_t> sums;
  for (const auto& [begin, functions] : host.times()) {
    std::map<int, std::uint64_t> by_thread;
    for (const auto& [function, time] : functions) {
      by_thread[function / kFunctionsPerThread] += time;
      sums[function] += time;
    }
    for (const auto& [thread, time] : by_thread) {
      ASSERT_LE(time, static_cast<std::uint64_t>(host.window()))
          << "thread " << thread << " in the window from " << begin;
    }
  }
  std::map<std::uint16_t, std::uint64_t> expected;
  std::map<ThreadIndex, Nanos> last_end;
  for (const wire::Event& event : host.events()) {
    ASSERT_LE(event.begin_ns, event.end_ns);
    ASSERT_GE(event.begin_ns, last_end[event.thread]) << "two calls of a thread overlap";
    last_end[event.thread] = event.end_ns;
    expected[raw(event.function)] += static_cast<std::uint64_t>(event.end_ns - event.begin_ns);
  }
  std::size_t died_in = 0;
  for (const wire::ProfileWindow& window : host.windows()) {
    if (window.accounts.empty() || !window.accounts.back().ended) continue;
    for (const auto& row : window.under_way) {
      ++died_in;
      expected[raw(row.function)] +=
          static_cast<std::uint64_t>(window.accounts.back().until_ns - row.begin_ns);
    }
  }
  EXPECT_EQ(died_in, left_in_calls);
  if (variety.ring_records != testing::kUnlimitedRing) return;
  for (const auto& [function, time] : expected) {
    if (function % kFunctionsPerThread == kPolled) {
      EXPECT_GE(sums[function], time) << "what was timed counts at least";
    } else {
      ASSERT_EQ(sums[function], time) << "function " << function;
    }
  }
}

void try_programs(const Variety& variety, unsigned seeds) {
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    testing::MomentOptions options;
    options.ring_records = variety.ring_records;
    options.by_ticks = variety.by_ticks;
    options.records_per_drain = variety.budget;
    if (variety.is_long) options.window = 250 * kMillisecond;
    if (variety.journal_is_small) options.journal_bytes = Journal::kSmallest * 3 / 2;
    MomentHost host(options);
    const std::size_t left = run_program(host, variety, random);
    check(host, variety, left);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(UnderWayPrograms, OfOneThread) { try_programs({}, 60); }
TEST(UnderWayPrograms, OfThreads) { try_programs({.threads = 4}, 30); }
TEST(UnderWayPrograms, WithSampling) { try_programs({.samples = true}, 60); }
TEST(UnderWayPrograms, OfThreadsWithSampling) { try_programs({.threads = 3, .samples = true}, 30); }
TEST(UnderWayPrograms, WithAnOffsetThatIsLearned) {
  try_programs({.threads = 2, .samples = true, .learns = true}, 30);
  try_programs({.threads = 2, .samples = true, .learns = true, .is_long = true}, 20);
}
TEST(UnderWayPrograms, OverReplacementsOfTheAgent) {
  try_programs({.threads = 2, .replaces = true}, 30);
}
TEST(UnderWayPrograms, OverReplacementsWithSamplingAndALearnedOffset) {
  Variety variety{.threads = 2, .samples = true, .replaces = true, .learns = true};
  try_programs(variety, 30);
  variety.is_long = true;
  try_programs(variety, 20);
}
TEST(UnderWayPrograms, WithTicks) { try_programs({.by_ticks = true}, 60); }
TEST(UnderWayPrograms, WithTicksAndEverythingElse) {
  Variety variety{
      .threads = 2, .samples = true, .replaces = true, .learns = true, .by_ticks = true};
  try_programs(variety, 30);
  variety.is_long = true;
  try_programs(variety, 20);
}
TEST(UnderWayPrograms, ThatDieInACall) {
  try_programs({.threads = 2, .samples = true, .dies = true}, 40);
  try_programs({.threads = 3, .dies = true}, 40);
}
TEST(UnderWayPrograms, WhoseRingOverruns) {
  try_programs({.samples = true, .ring_records = capture::kMinRingRecords}, 40);
}
TEST(UnderWayPrograms, WithAJournalThatIsFullNowAndThen) {
  try_programs({.threads = 3, .samples = true, .journal_is_small = true}, 15);
  try_programs({.threads = 2, .replaces = true, .is_long = true, .journal_is_small = true}, 15);
}
TEST(UnderWayPrograms, WithAnAgentThatLagsBehind) {
  try_programs({.threads = 2, .samples = true, .budget = 7}, 30);
  try_programs({.threads = 2, .replaces = true, .dies = true, .budget = 3}, 30);
}

}  // namespace
}  // namespace xylem::backend
