// When an agent measures its host, and what it reports.

#include "backend/host/host_watch.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/support/fake_network.h"

namespace xylem::backend {
namespace {

using testing::FakeNetwork;

constexpr LeafId kWatchingLeaf{7};
constexpr Nanos kWatchBegin = 100 * kSecond;

wire::Control control_of(Nanos facts_ns, bool at_once) {
  wire::Control control;
  control.facts_ns = facts_ns;
  control.facts_at_once = at_once;
  return control;
}

class HostWatchTest : public ::testing::Test {
 protected:
  HostWatchTest() {
    HostWatchOptions options;
    options.network_rate = [this] { return rate_; };
    watch_.emplace(std::move(options));
    watch_->start(network_);
  }

  /// Runs the watch until it reports something. Returns nullopt if nothing is due before `end`.
  std::optional<wire::HostFacts> told_by(Nanos end, LeafId leaf = kWatchingLeaf) {
    while (watch_->next_due() != 0 && std::max(watch_->next_due(), now_) <= end) {
      now_ = std::max(watch_->next_due(), now_);
      auto facts = watch_->on_timer(leaf, now_);
      finish_counting();
      if (facts) return facts;
    }
    return std::nullopt;
  }
  void finish_counting() {
    if (network_.watched.empty()) return;
    pollfd counted{*network_.watched.begin(), POLLIN, 0};
    ASSERT_EQ(::poll(&counted, 1, 20'000), 1) << "hwloc does not end";
    EXPECT_TRUE(watch_->on_readable(counted.fd));
    EXPECT_TRUE(network_.watched.empty());
  }
  static std::optional<double> value(const wire::HostFacts& facts, const std::string& name) {
    for (const wire::HostFact& it : facts.facts) {
      if (it.name == name) return it.value;
    }
    return std::nullopt;
  }

  FakeNetwork network_;
  std::optional<double> rate_;
  std::optional<HostWatch> watch_;
  Nanos now_ = kWatchBegin;
};

TEST_F(HostWatchTest, DoesNothingUntilItIsTold) {
  watch_->meet_front_end(now_);
  EXPECT_EQ(watch_->next_due(), 0);
  watch_->configure(control_of(0, true), now_);
  EXPECT_EQ(watch_->next_due(), 0);
  EXPECT_TRUE(network_.watched.empty()) << "no child counts cores";
}

TEST_F(HostWatchTest, TellsAFrontEndThatWaitsAtOnceAndThenRegularly) {
  watch_->meet_front_end(now_);
  watch_->configure(control_of(10 * kSecond, true), now_);
  const auto first = told_by(kWatchBegin + 60 * kSecond);
  ASSERT_TRUE(first);
  EXPECT_EQ(now_, kWatchBegin + 300 * kMillisecond);
  EXPECT_EQ(first->leaf, kWatchingLeaf);
  for (const char* name :
       {"run_queue", "memory", "cores"}) {  // "idle" is known only after a tick of the machine.
    EXPECT_TRUE(value(*first, name)) << name;
  }
  ASSERT_TRUE(told_by(kWatchBegin + 60 * kSecond));
  EXPECT_EQ(now_, kWatchBegin + 10'300 * kMillisecond);
}

TEST_F(HostWatchTest, TakesItsTimeWhereNobodyWaits) {
  watch_->meet_front_end(now_);
  watch_->configure(control_of(10 * kSecond, false), now_);
  EXPECT_GT(watch_->next_due(), kWatchBegin) << "a start stays fast";
  ASSERT_TRUE(told_by(kWatchBegin + 60 * kSecond));
  EXPECT_EQ(now_, kWatchBegin + kSecond);
}

TEST_F(HostWatchTest, WakesTwiceForAReportThatNobodyWaitsForAndLooksWhenItIsAwakeAnyway) {
  watch_->configure(control_of(10 * kSecond, false), now_);
  ASSERT_TRUE(told_by(kWatchBegin + 2 * kSecond));
  const Nanos begin = watch_->next_due();
  EXPECT_EQ(begin, now_ + 10 * kSecond - HostWatchOptions().first_interval);
  EXPECT_FALSE(watch_->on_timer(kWatchingLeaf, begin));
  EXPECT_EQ(watch_->next_due(), now_ + 10 * kSecond);
  EXPECT_FALSE(watch_->on_timer(kWatchingLeaf, begin + HostWatchOptions().look_interval));
  EXPECT_EQ(watch_->next_due(), now_ + 10 * kSecond);
  EXPECT_TRUE(watch_->on_timer(kWatchingLeaf, now_ + 10 * kSecond));
}

TEST_F(HostWatchTest, TellsAnotherFrontEndThatWaitsAtOnce) {
  watch_->meet_front_end(now_);
  watch_->configure(control_of(10 * kSecond, true), now_);
  ASSERT_TRUE(told_by(kWatchBegin + kSecond));
  now_ = kWatchBegin + 4 * kSecond;
  watch_->meet_front_end(now_);
  ASSERT_TRUE(told_by(kWatchBegin + 9 * kSecond));
  EXPECT_EQ(now_, kWatchBegin + 4'300 * kMillisecond);
}

TEST_F(HostWatchTest, TellsNothingBeforeItsLeafHasANumber) {
  watch_->configure(control_of(10 * kSecond, false), now_);
  EXPECT_FALSE(told_by(kWatchBegin + 5 * kSecond, wire::kNoLeaf));
  const auto told = told_by(now_ + kSecond);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->leaf, kWatchingLeaf);
}

TEST_F(HostWatchTest, TellsTheLastRoundTripThatIsKnownAndLeavesOutWhatIsNot) {
  watch_->configure(control_of(10 * kSecond, false), now_);
  const auto first = told_by(kWatchBegin + 5 * kSecond);
  ASSERT_TRUE(first);
  EXPECT_FALSE(value(*first, "round_trip"));
  EXPECT_FALSE(value(*first, "network"));
  rate_ = 25;
  watch_->note_round_trip(54'300);
  watch_->note_round_trip(0);  // A new link, before its first ping.
  const auto second = told_by(kWatchBegin + 60 * kSecond);
  ASSERT_TRUE(second);
  EXPECT_EQ(value(*second, "round_trip"), 54.3) << "us";
  EXPECT_EQ(value(*second, "network"), 25);
}

TEST_F(HostWatchTest, StopsWhenItIsTold) {
  watch_->configure(control_of(10 * kSecond, false), now_);
  ASSERT_TRUE(told_by(kWatchBegin + 5 * kSecond));
  watch_->configure(control_of(0, false), now_);
  EXPECT_EQ(watch_->next_due(), 0);
  EXPECT_FALSE(told_by(kWatchBegin + 60 * kSecond));
}

}  // namespace
}  // namespace xylem::backend
