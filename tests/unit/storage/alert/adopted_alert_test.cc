// Alerts of a former front end: its successor goes on with them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/alert/alert_rules.h"
#include "tests/unit/storage/alert/alert_rules_fixture.h"

namespace xylem::storage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace xylem::storage
