#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "storage/alert/alert_rules.h"

namespace xylem::storage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr Nanos kAlertWindow = 250 * kMillisecond;
constexpr WorldId kWorld{0};

/// What a rank does in a window, as shares of the window.
struct Share {
  double mpi = 0.5, collective = 0.4;
  std::uint64_t calls = 100;
  Nanos longest_ns = kMillisecond;
  std::uint64_t collectives = 1;
};

/// A world with one rank on each host. Its windows are given to the rules one after the other.
class AlertRulesTest : public ::testing::Test {
 protected:
  /// Gives the next window of each rank to the rules.
  void next(const std::vector<Share>& shares) {
    const Nanos begin = now_;
    now_ += kAlertWindow;
    for (std::uint32_t rank = 0; rank < shares.size(); ++rank) {
      const Share& share = shares[rank];
      WindowNote note{kWorld, Rank{rank}, LeafId{rank}, begin, now_, 0, 0, 0, 0, "MPI_Allreduce"};
      note.calls = share.calls;
      note.mpi_ns = static_cast<std::uint64_t>(share.mpi * kAlertWindow);
      note.collective_ns = static_cast<std::uint64_t>(share.collective * kAlertWindow);
      note.max_ns = static_cast<std::uint64_t>(share.longest_ns);
      note.collectives = share.collectives;
      note.collective_calls = share.collectives == 0 ? 0 : share.calls;
      if (share.calls != 0) rules_.note(note);
      rules_.note_leaf(note.leaf, now_);
    }
    for (const Alert& alert : rules_.judge()) alerts_[alert.id] = alert;
  }
  void run(Nanos length, const std::vector<Share>& shares) {
    for (const Nanos end = now_ + length; now_ < end;) next(shares);
  }
  /// The report of an agent about a rank that has made no call since then.
  void silent(std::uint32_t rank, Nanos since, const std::string& inside, bool stopped = false) {
    rules_.note_silence(
        {kWorld, Rank{rank}, LeafId{rank}, since, ++captured_, inside, stopped, inside.empty()});
  }
  /// The report of an agent that cannot say whether a call is under way.
  void silent_somewhere(std::uint32_t rank, Nanos since) {
    rules_.note_silence({kWorld, Rank{rank}, LeafId{rank}, since, ++captured_, "", false, false});
  }
  /// The alert of a kind that was raised once.
  Alert the(AlertKind kind) const {
    const auto found = alerts(kind);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? Alert{} : found.back();
  }
  void finish() {
    for (const Alert& alert : rules_.finish()) alerts_[alert.id] = alert;
  }
  std::vector<Alert> alerts(AlertKind kind) const {
    std::vector<Alert> of_kind;
    for (const auto& [id, alert] : alerts_) {
      if (alert.kind == kind) of_kind.push_back(alert);
    }
    return of_kind;
  }

  AlertRules rules_{AlertLimits{}};
  Nanos now_ = 0;
  std::uint64_t captured_ = 1000;
  std::map<std::int64_t, Alert> alerts_;
};

constexpr Share kBusy{.mpi = 0.05, .collective = 0.02};
constexpr Share kWaits{.mpi = 0.9, .collective = 0.85};
constexpr Share kSilent{.mpi = 0, .collective = 0, .calls = 0};

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

TEST_F(AlertRulesTest, ARankThatMakesNoCallsWhileOthersDoIsStalledUntilItsNextOne) {
  run(5 * kSecond, {{}, {}, {}});
  run(15 * kSecond, {{}, kSilent, {}});
  auto found = alerts(AlertKind::kStalled);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rank, Rank{1});
  EXPECT_EQ(found[0].at_ns, 5 * kSecond);
  EXPECT_FALSE(found[0].until_ns);
  EXPECT_GE(found[0].value, 13);  // The value of the last evaluation, at most two seconds ago.
  run(3 * kSecond, {{}, {}, {}});
  found = alerts(AlertKind::kStalled);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].until_ns);
  EXPECT_GE(*found[0].until_ns, 20 * kSecond);
}

TEST_F(AlertRulesTest, AWorldThatComputesWithoutAnyCallIsNotStalled) {
  run(5 * kSecond, {{}, {}});
  run(60 * kSecond, {kSilent, kSilent});
  EXPECT_THAT(alerts(AlertKind::kStalled), IsEmpty());
}

TEST_F(AlertRulesTest, ARankWhoseHostIsLateOrThatHasEndedIsNotStalled) {
  run(5 * kSecond, {{}, {}, {}});
  rules_.note_ended(kWorld, Rank{2});
  for (int i = 0; i < 200; ++i) {  // Nothing is known of rank 1: its leaf sends no window.
    const Nanos begin = now_;
    now_ += kAlertWindow;
    rules_.note({kWorld, Rank{0}, LeafId{0}, begin, now_, 10, 1000, 1000, 100, ""});
    rules_.note_leaf(LeafId{2}, now_);
    for (const Alert& alert : rules_.judge()) alerts_[alert.id] = alert;
  }
  EXPECT_THAT(alerts(AlertKind::kStalled), IsEmpty());
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

TEST_F(AlertRulesTest, AWorldWhoseRanksAreAllInsideCallsHangs) {
  run(5 * kSecond, {{}, {}, {}, {}});
  for (std::uint32_t rank = 0; rank < 3; ++rank) silent(rank, now_, "MPI_Recv");
  silent(3, now_, "MPI_Barrier");
  const std::vector<Share> nobody(4, kSilent);
  run(9 * kSecond, nobody);
  EXPECT_THAT(alerts_, IsEmpty());
  run(5 * kSecond, nobody);
  const Alert alert = the(AlertKind::kStalled);
  EXPECT_EQ(alert.rank, std::nullopt);
  EXPECT_EQ(alert.at_ns, 5 * kSecond);
  EXPECT_FALSE(alert.until_ns);
  EXPECT_GE(alert.value, 12);
  EXPECT_THAT(
      alert.text,
      MatchesRegex("no rank has made progress for 1[0-9] s: 3 in MPI_Recv, 1 in MPI_Barrier"));
  // Only one end is reported, although several calls were equally long.
  const Share waited{.longest_ns = 14 * kSecond};
  run(10 * kSecond, {waited, waited, waited, waited});
  ASSERT_TRUE(the(AlertKind::kStalled).until_ns);
  EXPECT_GE(*the(AlertKind::kStalled).until_ns, 19 * kSecond);
}

TEST_F(AlertRulesTest, AWorldInWhichARankHasEndedHangsToo) {
  run(5 * kSecond, {{}, {}, {}});
  rules_.note_ended(kWorld, Rank{2});
  for (std::uint32_t rank = 0; rank < 2; ++rank) silent(rank, now_, "MPI_Recv");
  run(14 * kSecond, {kSilent, kSilent});
  const Alert alert = the(AlertKind::kStalled);
  EXPECT_EQ(alert.rank, std::nullopt);
  EXPECT_THAT(
      alert.text,
      MatchesRegex("no rank has made progress for 1[0-9] s: 2 in MPI_Recv; 1 ended or lost"));
}

TEST_F(AlertRulesTest, WhoIsOutsideWhileTheOthersWaitIsTheOne) {
  run(5 * kSecond, {{}, {}, {}, {}});
  for (const std::uint32_t rank : {0u, 1u, 3u}) silent(rank, now_, "MPI_Allreduce");
  silent(2, now_, "");
  run(13 * kSecond, {kSilent, kSilent, kSilent, kSilent});
  const Alert alert = the(AlertKind::kStalled);
  EXPECT_EQ(alert.rank, Rank{2});
  EXPECT_THAT(alert.text,
              MatchesRegex("rank 2 has made no MPI call for 1[0-9] s; 3 in MPI_Allreduce"));
}

TEST_F(AlertRulesTest, WhoIsStoppedIsTheOneWhereverItIs) {
  run(5 * kSecond, {{}, {}});
  silent(0, now_, "MPI_Recv", true);
  silent(1, now_, "MPI_Recv");
  run(13 * kSecond, {kSilent, kSilent});
  EXPECT_EQ(the(AlertKind::kStalled).rank, Rank{0});
  EXPECT_THAT(the(AlertKind::kStalled).text, HasSubstr("rank 0 is stopped by a signal"));
}

TEST_F(AlertRulesTest, AllStoppedWhileTheyComputeAreTold) {
  run(5 * kSecond, {{}, {}});
  silent(0, now_, "", true);
  silent(1, now_, "", true);
  run(13 * kSecond, {kSilent, kSilent});
  EXPECT_THAT(the(AlertKind::kStalled).text, HasSubstr("2 ranks (0, 1) are stopped by a signal"));
}

TEST_F(AlertRulesTest, ARankThatWaitsWhileOthersGoOnIsTold) {
  run(5 * kSecond, {{}, {}, {}});
  silent(1, now_, "MPI_Recv");
  run(13 * kSecond, {{}, kSilent, {}});
  EXPECT_EQ(the(AlertKind::kStalled).rank, Rank{1});
  EXPECT_THAT(the(AlertKind::kStalled).text,
              MatchesRegex("rank 1 has been in MPI_Recv for 1[0-9] s while others go on"));
}

TEST_F(AlertRulesTest, RanksThatAllComputeAreNotStalledWhenTheirAgentsSaySo) {
  run(5 * kSecond, {{}, {}});
  silent(0, now_, "");
  silent(1, now_ + kSecond, "");
  run(600 * kSecond, {kSilent, kSilent});
  EXPECT_THAT(alerts_, IsEmpty());
}

TEST_F(AlertRulesTest, RanksThatGoOnToComputeOneAfterTheOtherAreNotStalled) {
  run(5 * kSecond, {{}, {}});
  silent(0, now_, "");
  run(6 * kSecond, {kSilent, {}});
  silent(1, now_, "");
  run(600 * kSecond, {kSilent, kSilent});
  EXPECT_THAT(alerts_, IsEmpty());
}

TEST_F(AlertRulesTest, AStallIsOverWhenThoseThatWentOnComputeAsWell) {
  run(5 * kSecond, {{}, {}, {}});
  silent(0, now_, "");
  run(15 * kSecond, {kSilent, {}, {}});
  EXPECT_FALSE(the(AlertKind::kStalled).until_ns);
  silent(1, now_, "");
  silent(2, now_, "");
  run(15 * kSecond, {kSilent, kSilent, kSilent});
  EXPECT_EQ(the(AlertKind::kStalled).until_ns, 20 * kSecond);
}

TEST_F(AlertRulesTest, RanksThatWorkForOneThatWaitsAreNotStalled) {
  run(5 * kSecond, {{}, {}, {}, {}});
  silent(0, now_, "MPI_Recv");
  for (const std::uint32_t rank : {1u, 2u, 3u}) silent(rank, now_, "");
  run(60 * kSecond, {kSilent, kSilent, kSilent, kSilent});
  EXPECT_THAT(alerts_, IsEmpty());
  // All but one come to the barrier.
  for (const std::uint32_t rank : {1u, 2u}) silent(rank, now_, "MPI_Barrier");
  run(13 * kSecond, {kSilent, kSilent, kSilent, kSilent});
  EXPECT_EQ(the(AlertKind::kStalled).rank, Rank{3});
}

TEST_F(AlertRulesTest, RanksThatAreServedByOneThatGoesOnAreNotStalled) {
  run(5 * kSecond, {{}, {}, {}, {}});
  for (const std::uint32_t rank : {1u, 2u, 3u}) silent(rank, now_, "");
  run(60 * kSecond, {{}, kSilent, kSilent, kSilent});
  EXPECT_THAT(alerts_, IsEmpty());
}

TEST_F(AlertRulesTest, WhoMayBeInsideOfACallIsNotSaidToBeOutside) {
  run(5 * kSecond, {{}, {}, {}, {}});
  for (const std::uint32_t rank : {0u, 1u, 3u}) silent(rank, now_, "MPI_Barrier");
  silent_somewhere(2, now_);
  run(13 * kSecond, {kSilent, kSilent, kSilent, kSilent});
  EXPECT_EQ(the(AlertKind::kStalled).rank, Rank{2});
  EXPECT_THAT(the(AlertKind::kStalled).text,
              MatchesRegex("rank 2 has begun no MPI call for 1[0-9] s, it may be inside one; "
                           "3 in MPI_Barrier"));
}

TEST_F(AlertRulesTest, WhoMayBeInsideOfACallIsNotTheOneWhenAnotherIsOutside) {
  run(5 * kSecond, {{}, {}, {}, {}});
  for (const std::uint32_t rank : {0u, 1u}) silent(rank, now_, "MPI_Barrier");
  silent_somewhere(2, now_);
  silent(3, now_, "");
  run(13 * kSecond, {kSilent, kSilent, kSilent, kSilent});
  EXPECT_THAT(the(AlertKind::kStalled).text, HasSubstr("rank 3 has made no MPI call"));
}

TEST_F(AlertRulesTest, AnAgentThatIsStartedAnewDoesNotEndAStall) {
  run(5 * kSecond, {{}, {}});
  silent(0, now_, "MPI_Recv");
  silent(1, now_, "MPI_Recv");
  run(13 * kSecond, {kSilent, kSilent});
  captured_ -= 2;
  silent(0, now_, "MPI_Recv");
  silent(1, now_, "MPI_Recv");
  run(5 * kSecond, {kSilent, kSilent});
  EXPECT_FALSE(the(AlertKind::kStalled).until_ns);
  EXPECT_GE(the(AlertKind::kStalled).value, 15);
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

TEST_F(AlertRulesTest, ARankThatWasSilentWhenAFrontEndTookOverIsTold) {
  rules_.adopt_rank(kWorld, Rank{2}, LeafId{2}, 0, 10, 0);
  now_ = 5 * kSecond;
  run(kSecond, {kBusy, kBusy, kSilent});
  EXPECT_THAT(alerts(AlertKind::kStalled), IsEmpty());
  run(8 * kSecond, {kBusy, kBusy, kSilent});
  EXPECT_THAT(alerts(AlertKind::kStalled), ElementsAre(Field(&Alert::rank, Rank{2})));
}

TEST_F(AlertRulesTest, ALossThatWentOnWhenAFrontEndTookOverIsTheSame) {
  const Alert loss{.id = 7,
                   .kind = AlertKind::kLoss,
                   .subject = AlertSubject::kRank,
                   .rank = Rank{1},
                   .text = "5 calls of rank 1 were lost",
                   .value = 5,
                   .threshold = 1};
  rules_.adopt(std::vector{loss}, 7);
  rules_.adopt_rank(kWorld, Rank{1}, LeafId{1}, 90 * kSecond, 100, 5);
  now_ = 100 * kSecond;
  next({{}, {}});
  rules_.note_lost(kWorld, Rank{1}, 9);
  run(kSecond, {{}, {}});
  EXPECT_THAT(alerts(AlertKind::kLoss),
              ElementsAre(AllOf(Field(&Alert::id, 7), Field(&Alert::value, 9))));
  run(12 * kSecond, {{}, {}});
  EXPECT_TRUE(the(AlertKind::kLoss).until_ns);
}

TEST_F(AlertRulesTest, AHangThatWentOnWhenAFrontEndTookOverIsTheSame) {
  const Alert hang{.id = 7,
                   .at_ns = kSecond,
                   .kind = AlertKind::kStalled,
                   .subject = AlertSubject::kWorld,
                   .text = "no rank has made progress",
                   .value = 50,
                   .threshold = 10};
  rules_.adopt(std::vector{hang}, 7);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    rules_.adopt_rank(kWorld, Rank{rank}, LeafId{rank}, kSecond, captured_, 0);
  }
  now_ = 100 * kSecond;
  rules_.note_leaf(LeafId{0}, now_);
  rules_.note_leaf(LeafId{0}, now_ + 3 * kSecond);
  EXPECT_THAT(rules_.judge(), IsEmpty());  // Nothing is known of the other rank.
  captured_ -= 1;
  silent(0, now_, "MPI_Recv");
  captured_ -= 1;
  silent(1, now_, "MPI_Recv");
  run(8 * kSecond, {kSilent, kSilent});
  EXPECT_EQ(the(AlertKind::kStalled).id, 7);
  EXPECT_EQ(the(AlertKind::kStalled).at_ns, kSecond);
  EXPECT_GE(the(AlertKind::kStalled).value, 99);
}

TEST_F(AlertRulesTest, NobodySaysWhoWaitsForWhomBeforeEachHostIsHeardOf) {
  const Alert stall{.id = 7,
                    .at_ns = kSecond,
                    .kind = AlertKind::kStalled,
                    .subject = AlertSubject::kWorld,
                    .rank = Rank{2},
                    .text = "rank 2 has made no MPI call for 50 s; 2 in MPI_Allreduce",
                    .value = 50,
                    .threshold = 10};
  rules_.adopt(std::vector{stall}, 7);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    rules_.adopt_rank(kWorld, Rank{rank}, LeafId{rank}, kSecond, 10, 0);
  }
  now_ = 100 * kSecond;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    rules_.note_leaf(LeafId{rank}, now_);
    rules_.note_leaf(LeafId{rank}, now_ + 3 * kSecond);
    rules_.note_silence(
        {kWorld, Rank{rank}, LeafId{rank}, kSecond, 10, "MPI_Allreduce", false, false});
  }
  EXPECT_THAT(rules_.judge(), IsEmpty());
  rules_.note_leaf(LeafId{2}, now_);
  rules_.note_silence({kWorld, Rank{2}, LeafId{2}, kSecond, 10, "", false, true});
  run(8 * kSecond, {kSilent, kSilent, kSilent});
  EXPECT_EQ(the(AlertKind::kStalled).id, 7);
  EXPECT_FALSE(the(AlertKind::kStalled).until_ns);
  EXPECT_EQ(the(AlertKind::kStalled).rank, Rank{2});
}

/// An open loss of 5 calls of rank 1, or of the leaf. The sentence does not say which.
Alert loss(std::int64_t id, AlertSubject subject, LeafId leaf = LeafId{1}) {
  Alert alert{.id = id,
              .kind = AlertKind::kLoss,
              .subject = subject,
              .text = "something is lost",
              .value = 5,
              .threshold = 1};
  if (subject == AlertSubject::kHost || subject == AlertSubject::kLostHost) {
    alert.leaf = leaf;
  } else {
    alert.rank = Rank{1};
  }
  return alert;
}

TEST_F(AlertRulesTest, EachLossOfAFormerFrontEndGoesOnAsItself) {
  rules_.adopt(std::vector{loss(1, AlertSubject::kRank), loss(2, AlertSubject::kEvents),
                           loss(3, AlertSubject::kHost), loss(4, AlertSubject::kRank)},
               4);
  rules_.adopt_rank(kWorld, Rank{1}, LeafId{1}, 90 * kSecond, 100, 5);
  rules_.name_host(LeafId{1}, "node02");
  now_ = 100 * kSecond;
  next({{}, {}});
  EXPECT_TRUE(alerts_.at(4).until_ns);  // A duplicate: an equal alert is open already.
  rules_.note_lost(kWorld, Rank{1}, 9);
  rules_.note_events_given_up(kWorld, Rank{1}, 2, "it was full");
  rules_.note_given_up(LeafId{1}, std::nullopt, "it was full");
  next({{}, {}});
  EXPECT_EQ(alerts_.at(1).value, 9);
  EXPECT_EQ(alerts_.at(2).value, 7);
  EXPECT_EQ(alerts_.at(2).text, "events of 7 calls of rank 1 were given up: it was full");
  EXPECT_THAT(alerts_.at(3).text, HasSubstr("calls, not known how many, of host node02 were"));
  EXPECT_EQ(alerts_.size(), 4u);
  run(12 * kSecond, {{}, {}});
  for (const auto& [id, alert] : alerts_) EXPECT_TRUE(alert.until_ns) << alert.text;
}

TEST_F(AlertRulesTest, TwoLostHostsOfOneNameAreTwoAlerts) {
  rules_.name_host(LeafId{1}, "node");
  rules_.name_host(LeafId{2}, "node");
  next({{}, {}, {}});
  rules_.note_host_lost({LeafId{1}, {}, 0});
  rules_.note_host_lost({LeafId{2}, {}, 0});
  next({{}});
  const auto found = alerts(AlertKind::kLoss);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].text, found[1].text);
  EXPECT_THAT(found, ElementsAre(Field(&Alert::leaf, LeafId{1}), Field(&Alert::leaf, LeafId{2})));
  for (const Alert& alert : found) EXPECT_EQ(alert.subject, AlertSubject::kLostHost);
  rules_.note_host_found(LeafId{2});
  next({{}});
  EXPECT_FALSE(alerts_.at(1).until_ns);
  EXPECT_TRUE(alerts_.at(2).until_ns);
}

TEST_F(AlertRulesTest, AdoptedAlertsWithTheSameWordsAreToldApartByTheirSubjects) {
  rules_.adopt(
      std::vector{loss(1, AlertSubject::kLostHost, LeafId{1}),
                  loss(2, AlertSubject::kLostHost, LeafId{2}),
                  loss(3, AlertSubject::kHost, LeafId{1}), loss(4, AlertSubject::kHost, LeafId{2})},
      4);
  for (const std::uint32_t leaf : {1, 2}) rules_.name_host(LeafId{leaf}, "node");
  rules_.note_host_lost({LeafId{2}, {}, 0});  // The other host has reported again.
  rules_.note_given_up(LeafId{2}, 3, "it was full");
  now_ = 100 * kSecond;
  next({{}});
  EXPECT_TRUE(alerts_.at(1).until_ns);
  EXPECT_FALSE(alerts_.contains(2)) << "unchanged";
  EXPECT_FALSE(alerts_.contains(3)) << "unchanged";
  EXPECT_EQ(alerts_.at(4).value, 8);
  EXPECT_EQ(alerts_.size(), 2u);
}

TEST_F(AlertRulesTest, ALossOfWhichAPartIsNotKnownStaysSo) {
  next({{}, {}});
  rules_.note_given_up(LeafId{1}, std::nullopt, "the journal was full");
  next({{}, {}});
  rules_.note_given_up(LeafId{1}, 1234567, "the journal was full");
  next({{}, {}});
  EXPECT_EQ(the(AlertKind::kLoss).value, 1234567);
  EXPECT_THAT(the(AlertKind::kLoss).text, HasSubstr("calls, not known how many, of"));
  EXPECT_TRUE(the(AlertKind::kLoss).at_least);
  rules_.note_given_up(std::nullopt, 1234567, "the journal was full");
  next({{}, {}});
  EXPECT_EQ(alerts(AlertKind::kLoss).back().text,
            "1,234,567 calls of several hosts were given up: the journal was full");
}

TEST_F(AlertRulesTest, AnAdoptedAlertOfARankOfALostHostIsClosed) {
  const Alert slow{.id = 7,
                   .kind = AlertKind::kImbalance,
                   .subject = AlertSubject::kWorld,
                   .rank = Rank{1},
                   .text = "rank 1 is in MPI 5 %",
                   .value = 0.5,
                   .threshold = 0.3};
  rules_.adopt(std::vector{slow}, 7);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    rules_.adopt_rank(kWorld, Rank{rank}, LeafId{rank}, 90 * kSecond, 10, 0);
  }
  rules_.note_host_lost({LeafId{1}, {{kWorld, Rank{1}}}, 0});
  now_ = 100 * kSecond;
  for (int i = 0; i < 60; ++i) {
    const Nanos begin = now_;
    now_ += kAlertWindow;
    for (const std::uint32_t rank : {0u, 2u}) {
      rules_.note({kWorld, Rank{rank}, LeafId{rank}, begin, now_, 10, 1000, 1000, 100, ""});
    }
    for (const Alert& alert : rules_.judge()) alerts_[alert.id] = alert;
  }
  EXPECT_TRUE(the(AlertKind::kImbalance).until_ns);
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
