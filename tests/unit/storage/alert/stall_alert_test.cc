// Ranks that stall and worlds that hang: which rank is named, and who is not accused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/alert/alert_rules.h"
#include "tests/unit/storage/alert/alert_rules_fixture.h"

namespace xylem::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

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

}  // namespace
}  // namespace xylem::storage
