// Imbalance, oversubscribed hosts, losses, and what all rules have in common.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/alert/alert_rules.h"
#include "tests/unit/storage/alert/alert_rules_fixture.h"

namespace xylem::storage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(AlertRulesTest, NothingIsToldOfARunOfEqualRanks) {
  run(120 * kSecond, {{}, {}, {}, {}});
  finish();
  EXPECT_THAT(alerts_, IsEmpty());
}

TEST_F(AlertRulesTest, ASlowRankIsTheOneThatTheOthersWaitFor) {
  run(60 * kSecond, {kBusy, kWaits, kWaits, kWaits});
  for (const AlertKind kind : {AlertKind::kImbalance, AlertKind::kLate}) {
    const auto found = alerts(kind);
    ASSERT_EQ(found.size(), 1u) << alert_kind_name(kind);
    EXPECT_EQ(found[0].rank, Rank{0});
    EXPECT_EQ(found[0].until_ns, std::nullopt);
    EXPECT_GT(found[0].value, 0.6);
    EXPECT_EQ(found[0].threshold, 0.3);
    EXPECT_LE(found[0].at_ns, 4 * kSecond);
  }
  EXPECT_THAT(alerts(AlertKind::kLate)[0].text, HasSubstr("rank 0 comes last to collectives"));
}

TEST_F(AlertRulesTest, AnImbalanceIsToldOnlyWhenItLastsASpan) {
  for (int i = 0; i < 20; ++i) {
    run(2 * kSecond, {kBusy, kWaits});
    run(8 * kSecond, {{}, {}});
  }
  EXPECT_THAT(alerts_, IsEmpty());
}

TEST_F(AlertRulesTest, AnImbalanceInARunOfFourSecondsIsToldBeforeItsEnd) {
  now_ = 250 * kMillisecond;  // The ranks begin in the middle of a part.
  run(3 * kSecond, {kBusy, kWaits, kWaits, kWaits});
  const Alert alert = the(AlertKind::kImbalance);
  EXPECT_EQ(alert.rank, Rank{0});
  EXPECT_EQ(alert.at_ns, 250 * kMillisecond);
  EXPECT_NEAR(alert.value, 0.64, 0.01);
}

TEST_F(AlertRulesTest, AnImbalanceAfterALongStartIsToldToo) {
  constexpr Share kStarts{.mpi = 1, .collective = 0, .longest_ns = kSecond};  // In MPI_Init.
  run(kSecond, {kStarts, kStarts, kStarts, kStarts});
  run(3 * kSecond, {kBusy, kWaits, kWaits, kWaits});
  EXPECT_EQ(the(AlertKind::kImbalance).rank, Rank{0});
}

TEST_F(AlertRulesTest, AWaitAtTheStartThatIsOverIsNotTold) {
  for (const Nanos wait : {kSecond, 2 * kSecond}) {
    AlertRulesTest::rules_ = AlertRules(AlertLimits{});
    now_ = 0;
    run(wait, {kBusy, kWaits, kWaits});
    run(30 * kSecond, {{}, {}, {}});
    EXPECT_THAT(alerts_, IsEmpty()) << wait;
  }
}

TEST_F(AlertRulesTest, RanksThatTakeTurnsInAYoungRunAreNotTold) {
  for (int i = 0; i < 3; ++i) {
    run(kSecond, {kBusy, kWaits, kWaits});
    run(kSecond, {kWaits, kBusy, kWaits});
    run(kSecond, {kWaits, kWaits, kBusy});
  }
  EXPECT_THAT(alerts(AlertKind::kImbalance), IsEmpty());
}

TEST_F(AlertRulesTest, AnImbalanceOfAYoungRunIsOverWhenTheRanksAreEqual) {
  run(4 * kSecond, {kBusy, kWaits, kWaits});
  EXPECT_FALSE(the(AlertKind::kImbalance).until_ns);
  run(20 * kSecond, {{}, {}, {}});
  EXPECT_TRUE(the(AlertKind::kImbalance).until_ns);
}

TEST_F(AlertRulesTest, AHostWithMoreRanksThanCoresIsToldAfterTwoSeconds) {
  rules_.name_host(LeafId{0}, "node01");
  rules_.note_cores(LeafId{0}, 2);
  const auto three_ranks = [this](Nanos length) {
    for (const Nanos end = now_ + length; now_ < end;) {
      now_ += kAlertWindow;
      for (std::uint32_t rank = 0; rank < 3; ++rank) {
        rules_.note({kWorld, Rank{rank}, LeafId{0}, now_ - kAlertWindow, now_, 10, 0, 0, 0, ""});
      }
      for (const Alert& alert : rules_.judge()) alerts_[alert.id] = alert;
    }
  };
  three_ranks(2 * kSecond);
  EXPECT_THAT(alerts_, IsEmpty());
  three_ranks(2 * kSecond);
  Alert alert = the(AlertKind::kOversubscribed);
  EXPECT_EQ(alert.text, "host node01 has 3 ranks on 2 cores: ranks share cores");
  EXPECT_EQ(alert.subject, AlertSubject::kHost);
  EXPECT_EQ(alert.leaf, LeafId{0});
  EXPECT_DOUBLE_EQ(alert.value, 1.5);
  EXPECT_DOUBLE_EQ(alert.threshold, 1);
  EXPECT_FALSE(alert.until_ns);
  rules_.note_ended(kWorld, Rank{2});
  three_ranks(2 * kSecond);
  alert = the(AlertKind::kOversubscribed);
  EXPECT_TRUE(alert.until_ns);
}

TEST_F(AlertRulesTest, HostsWithACoreForEachRankOrWithUnknownCoresAreNotOversubscribed) {
  rules_.note_cores(LeafId{0}, 1);  // One rank a host.
  rules_.note_cores(LeafId{1}, 1.5);
  run(20 * kSecond, {{}, {}, {}});
  EXPECT_THAT(alerts_, IsEmpty());
}

TEST_F(AlertRulesTest, AValueThatSwingsAboutTheThresholdIsOneAlert) {
  // Means of a span between 0.27 and 0.33 above the lowest: over and under the threshold of 0.3.
  for (int i = 0; i < 10; ++i) {
    run(10 * kSecond, {{.mpi = 0.1}, {.mpi = 0.76}});
    run(10 * kSecond, {{.mpi = 0.1}, {.mpi = 0.64}});
  }
  EXPECT_EQ(alerts(AlertKind::kImbalance).size(), 1u);
  run(30 * kSecond, {{.mpi = 0.5}, {.mpi = 0.5}});
  const auto found = alerts(AlertKind::kImbalance);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].until_ns);
  EXPECT_GT(*found[0].until_ns, 195 * kSecond);
  EXPECT_NEAR(found[0].value, 0.33, 0.01);  // The worst value.
}

TEST_F(AlertRulesTest, WhenAnotherRankBecomesTheSlowOneThatIsAnotherAlert) {
  run(30 * kSecond, {kBusy, kWaits, kWaits});
  run(30 * kSecond, {kWaits, kWaits, kBusy});
  const auto found = alerts(AlertKind::kImbalance);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rank, Rank{0});
  EXPECT_TRUE(found[0].until_ns);
  EXPECT_EQ(found[1].rank, Rank{2});
  EXPECT_FALSE(found[1].until_ns);
}

TEST_F(AlertRulesTest, OneVeryLongCallIsToldOnceForAllWhoWaited) {
  run(5 * kSecond, {{}, {}, {}});
  run(12 * kSecond, {kSilent, kSilent, kSilent});
  const Share waited{.longest_ns = 12 * kSecond};
  next({{}, waited, {.longest_ns = 12 * kSecond + 1}});
  next({{}, waited, waited});
  run(5 * kSecond, {{}, {}, {}});
  const auto found = alerts(AlertKind::kStalled);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, HasSubstr("in one MPI_Allreduce for 12.0 s"));
  EXPECT_TRUE(found[0].until_ns);
}

TEST_F(AlertRulesTest, OfRanksThatAreAlikeThereIsOneAlert) {
  for (std::uint32_t leaf = 0; leaf < 6; ++leaf) rules_.name_host(LeafId{leaf}, "node0");
  run(60 * kSecond, {kBusy, kBusy, kWaits, kWaits, kWaits, kWaits});
  const Alert alert = the(AlertKind::kImbalance);
  EXPECT_EQ(alert.rank, Rank{0});
  EXPECT_THAT(alert.text, HasSubstr("2 ranks (0, 1) are in MPI 5 % of their time (least rank 0)"));
  // One of them is still slow: it is the same alert.
  run(60 * kSecond, {kWaits, kBusy, kWaits, kWaits, kWaits, kWaits});
  EXPECT_EQ(the(AlertKind::kImbalance).rank, Rank{1});
  EXPECT_FALSE(the(AlertKind::kImbalance).until_ns);
}

TEST_F(AlertRulesTest, RanksOfOneHostAreToldWithIt) {
  const auto window = [&](std::uint32_t rank, double mpi) {
    const LeafId leaf{rank < 2 ? 0u : 1u};
    WindowNote note{kWorld, Rank{rank}, leaf, now_, now_ + kAlertWindow, 10, 0, 0, 0, ""};
    note.mpi_ns = static_cast<std::uint64_t>(mpi * kAlertWindow);
    rules_.note(note);
  };
  rules_.name_host(LeafId{0}, "node01");
  rules_.name_host(LeafId{1}, "node02");
  for (; now_ < 20 * kSecond; now_ += kAlertWindow) {
    for (std::uint32_t rank = 0; rank < 6; ++rank) window(rank, rank < 2 ? 0.1 : 0.9);
    for (const Alert& alert : rules_.judge()) alerts_[alert.id] = alert;
  }
  EXPECT_THAT(the(AlertKind::kImbalance).text, HasSubstr("2 ranks (0, 1, all on node01) are in"));
}

TEST_F(AlertRulesTest, TheSentenceSaysHowItIsAndInTheEndHowItWasAtItsWorst) {
  run(20 * kSecond, {{.mpi = 0.1}, {.mpi = 0.9}, {.mpi = 0.9}});
  EXPECT_THAT(the(AlertKind::kImbalance).text, HasSubstr("is in MPI 10 % of its time"));
  run(20 * kSecond, {{.mpi = 0.4}, {.mpi = 0.9}, {.mpi = 0.9}});
  EXPECT_THAT(the(AlertKind::kImbalance).text, AllOf(HasSubstr("is in MPI 40 % of its time"),
                                                     HasSubstr("(at worst 53 points apart)")));
  EXPECT_NEAR(the(AlertKind::kImbalance).value, 0.53, 0.01);
  run(20 * kSecond, {{}, {}, {}});
  EXPECT_TRUE(the(AlertKind::kImbalance).until_ns);
  EXPECT_THAT(the(AlertKind::kImbalance).text, HasSubstr("is in MPI 10 % of its time"));
}

TEST_F(AlertRulesTest, WhoTakesPartInNoCollectivesOrInOthersIsNotLate) {
  // Two ranks reduce, one serves them, and two gather much more often.
  const Share server{.mpi = 0.9, .collective = 0, .collectives = 0};
  const Share often{.mpi = 0.9, .collective = 0.1, .calls = 5000};
  const Share other{.mpi = 0.9, .collective = 0.1, .collectives = 2};
  run(60 * kSecond, {kWaits, kWaits, server, often, often, other, other});
  EXPECT_THAT(alerts_, IsEmpty());
  run(60 * kSecond, {{.mpi = 0.9, .collective = 0.1}, kWaits, server, often, often, other, other});
  EXPECT_EQ(the(AlertKind::kLate).rank, Rank{0});
}

TEST_F(AlertRulesTest, ALostHostIsALossUntilItIsHeardOfAgain) {
  rules_.name_host(LeafId{1}, "node02");
  run(5 * kSecond, {{}, {}, {}});
  const LostHostNote host{LeafId{1}, {{kWorld, Rank{1}}}, 7};
  rules_.note_host_lost(host);
  rules_.note_host_lost(host);
  const Share here{};
  for (int i = 0; i < 200; ++i) {  // No more windows come from that host.
    const Nanos begin = now_;
    now_ += kAlertWindow;
    rules_.note({kWorld, Rank{0}, LeafId{0}, begin, now_, here.calls, 1000, 1000, 100, ""});
    rules_.note({kWorld, Rank{2}, LeafId{2}, begin, now_, here.calls, 1000, 1000, 100, ""});
    for (const Alert& alert : rules_.judge()) alerts_[alert.id] = alert;
  }
  const Alert alert = the(AlertKind::kLoss);
  EXPECT_EQ(alert.rank, Rank{1});
  EXPECT_EQ(alert.value, 7);
  EXPECT_EQ(alert.at_ns, 5 * kSecond);
  EXPECT_FALSE(alert.until_ns);
  EXPECT_EQ(
      alert.text,
      "host node02 is lost with rank 1: what they did after 5.00 s of the run is not known; of "
      "what they did before, 7 calls are missing");
  EXPECT_EQ(alerts_.size(), 1u);  // No rank is stalled there.
  rules_.note_host_found(LeafId{1});
  next({{}, {}, {}});
  EXPECT_EQ(the(AlertKind::kLoss).until_ns, now_ - kAlertWindow);
}

TEST_F(AlertRulesTest, ALossIsOverWhenThereWasNoneForASpan) {
  run(5 * kSecond, {{}, {}});
  rules_.note_lost(kWorld, Rank{1}, 7);
  run(5 * kSecond, {{}, {}});
  rules_.note_lost(kWorld, Rank{1}, 10);
  rules_.note_lost(kWorld, Rank{1}, 10);
  run(5 * kSecond, {{}, {}});
  auto found = alerts(AlertKind::kLoss);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].value, 10);
  EXPECT_EQ(found[0].rank, Rank{1});
  EXPECT_FALSE(found[0].until_ns);
  run(10 * kSecond, {{}, {}});
  rules_.note_given_up(LeafId{1}, 3, "the journal was full");
  next({{}, {}});
  found = alerts(AlertKind::kLoss);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].until_ns);
  EXPECT_EQ(found[1].rank, std::nullopt);
}

TEST_F(AlertRulesTest, ARuleThatIsOffTellsNothing) {
  AlertLimits off;
  off.stalled_ns.reset();
  off.imbalance.reset();
  off.late.reset();
  off.lost_calls.reset();
  rules_ = AlertRules(off);
  run(30 * kSecond, {kBusy, kWaits, kWaits});
  run(30 * kSecond, {{}, kSilent, {.longest_ns = 20 * kSecond}});
  rules_.note_lost(kWorld, Rank{1}, 7);
  finish();
  EXPECT_THAT(alerts_, IsEmpty());
}

TEST_F(AlertRulesTest, AnEndClosesWhatIsOpen) {
  run(60 * kSecond, {kBusy, kWaits, kWaits});
  finish();
  ASSERT_FALSE(alerts_.empty());
  for (const auto& [id, alert] : alerts_) EXPECT_TRUE(alert.until_ns) << alert.text;
}

TEST_F(AlertRulesTest, CountsThatGrowFromRankToRankAreNotAllOfOneCommunicator) {
  const auto of = [](double collective, std::uint64_t calls) {
    return Share{.mpi = 0.9, .collective = collective, .calls = calls};
  };
  run(60 * kSecond, {of(0.1, 100), of(0.85, 100), of(0.85, 109), of(0.85, 119), of(0.85, 130)});
  // The first three are compared: the mean of all would be 0.7.
  EXPECT_THAT(the(AlertKind::kLate).text, HasSubstr("the mean of the 3 that take part is 60 %"));
}

}  // namespace
}  // namespace xylem::storage
