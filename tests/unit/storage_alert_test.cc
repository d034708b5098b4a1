#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "storage/alert_rules.h"
#include "storage/run_view.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage_packets.h"

namespace xylem::storage {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Nanos kWindow = 250 * kMillisecond;
constexpr WorldId kWorld{0};
constexpr FunctionId kAllreduce{7};

/// What a rank does in a window, as shares of it.
struct Share {
  double mpi = 0.5, collective = 0.4;
  std::uint64_t calls = 100;
  Nanos longest_ns = kMillisecond;
};

/// A world of ranks, one a host, that tells its windows one after the other.
class AlertRulesTest : public testing::Test {
 protected:
  /// The next window of each rank.
  void next(const std::vector<Share>& shares) {
    const Nanos begin = now_;
    now_ += kWindow;
    for (std::uint64_t rank = 0; rank < shares.size(); ++rank) {
      const Share& share = shares[rank];
      WindowNote note{
          kWorld, rank,           LeafId{static_cast<std::uint32_t>(rank)}, begin, now_, 0, 0, 0,
          0,      "MPI_Allreduce"};
      note.calls = share.calls;
      note.mpi_ns = static_cast<std::uint64_t>(share.mpi * kWindow);
      note.collective_ns = static_cast<std::uint64_t>(share.collective * kWindow);
      note.max_ns = static_cast<std::uint64_t>(share.longest_ns);
      if (share.calls != 0) rules_.note(note);
      rules_.note_leaf(note.leaf, now_);
    }
    for (const Alert& alert : rules_.settle()) alerts_[alert.id] = alert;
  }
  void run(Nanos length, const std::vector<Share>& shares) {
    for (const Nanos end = now_ + length; now_ < end;) next(shares);
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
    EXPECT_EQ(found[0].rank, 0u);
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
  EXPECT_NEAR(found[0].value, 0.33, 0.01);  // At its worst.
}

TEST_F(AlertRulesTest, WhenAnotherRankBecomesTheSlowOneThatIsAnotherAlert) {
  run(30 * kSecond, {kBusy, kWaits, kWaits});
  run(30 * kSecond, {kWaits, kWaits, kBusy});
  const auto found = alerts(AlertKind::kImbalance);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rank, 0u);
  EXPECT_TRUE(found[0].until_ns);
  EXPECT_EQ(found[1].rank, 2u);
  EXPECT_FALSE(found[1].until_ns);
}

TEST_F(AlertRulesTest, ARankThatMakesNoCallsWhileOthersDoIsStalledUntilItsNextOne) {
  run(5 * kSecond, {{}, {}, {}});
  run(15 * kSecond, {{}, kSilent, {}});
  auto found = alerts(AlertKind::kStalled);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rank, 1u);
  EXPECT_EQ(found[0].at_ns, 5 * kSecond);
  EXPECT_FALSE(found[0].until_ns);
  EXPECT_GE(found[0].value, 13);  // As of the last look, at most two seconds ago.
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
  rules_.note_ended(kWorld, 2);
  for (int i = 0; i < 200; ++i) {  // Of rank 1 nothing is known: no window of its leaf.
    const Nanos begin = now_;
    now_ += kWindow;
    rules_.note({kWorld, 0, LeafId{0}, begin, now_, 10, 1000, 1000, 100, ""});
    rules_.note_leaf(LeafId{2}, now_);
    for (const Alert& alert : rules_.settle()) alerts_[alert.id] = alert;
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

TEST_F(AlertRulesTest, ALossIsOverWhenThereWasNoneForASpan) {
  run(5 * kSecond, {{}, {}});
  rules_.note_lost(kWorld, 1, 7);
  run(5 * kSecond, {{}, {}});
  rules_.note_lost(kWorld, 1, 10);
  rules_.note_lost(kWorld, 1, 10);
  run(5 * kSecond, {{}, {}});
  auto found = alerts(AlertKind::kLoss);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].value, 10);
  EXPECT_EQ(found[0].rank, 1u);
  EXPECT_FALSE(found[0].until_ns);
  run(10 * kSecond, {{}, {}});
  rules_.note_given_up(3);
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
  rules_.note_lost(kWorld, 1, 7);
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
  rules_.adopt_rank(kWorld, 2, LeafId{2}, 0, 0);
  now_ = 5 * kSecond;
  run(kSecond, {kBusy, kBusy, kSilent});
  EXPECT_THAT(alerts(AlertKind::kStalled), IsEmpty());
  run(8 * kSecond, {kBusy, kBusy, kSilent});
  EXPECT_THAT(alerts(AlertKind::kStalled), ElementsAre(Field(&Alert::rank, 2u)));
}

/// The same through the store.
class StoredAlertsTest : public testing::Test {
 protected:
  StoredAlertsTest() {
    auto made = make_sqlite_store({path_});
    EXPECT_TRUE(made) << made.error().message;
    store_ = std::move(*made);
    RunFacts facts;
    facts.run_id = "run";
    facts.window_ns = kWindow;
    EXPECT_TRUE(store_->begin_run(facts));
    wire::Registration registration;
    registration.functions = {{kSend, "MPI_Send", 1}, {kAllreduce, "MPI_Allreduce", 2}};
    registration.processes = {process_row(1, 0), process_row(2, 1)};
    put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(0)},
                     wire::encode(registration)));
  }

  void put(const wire::Packet& packet) { ASSERT_TRUE(store_->put(packet)); }

  /// Rank 0 computes while rank 1 waits for it in MPI_Allreduce.
  void put_slow_windows(std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t wave = first; wave < end; ++wave) {
      wire::ProfileWindow window;
      window.rows = {profile_row(0, 1, 10, kAllreduce), profile_row(0, 2, 10, kAllreduce)};
      window.rows[1].time_ns = 9 * kWindow / 10;
      put(window_packet(wave, IntervalSet::of(0), window));
      ASSERT_TRUE(store_->commit());
    }
  }

  std::vector<Alert> alerts() {
    auto view = RunView::open(path_);
    EXPECT_TRUE(view);
    const auto found = view->alerts();
    EXPECT_TRUE(found);
    return found->alerts;
  }

  Folder folder_;
  std::string path_ = folder_.file("run.db");
  std::unique_ptr<Store> store_;
};

TEST_F(StoredAlertsTest, AreInTheFileAsSoonAsTheirWindows) {
  put_slow_windows(0, 60);
  const auto found = alerts();
  ASSERT_EQ(found.size(), 2u);
  for (const Alert& alert : found) {
    EXPECT_EQ(alert.rank, 0u);
    EXPECT_FALSE(alert.until_ns);
    EXPECT_GT(alert.value, 0.4);
  }
  ASSERT_TRUE(store_->end_run(0, 15 * kSecond));
  for (const Alert& alert : alerts()) EXPECT_TRUE(alert.until_ns);
}

TEST_F(StoredAlertsTest, AFrontEndThatTakesOverGoesOnWithThem) {
  put_slow_windows(0, 60);
  const auto before = alerts();
  store_.reset();
  auto resumed = resume_sqlite_store({path_, path_, "run"});
  ASSERT_TRUE(resumed);
  store_ = std::move(resumed->store);
  put_slow_windows(60, 180);
  const auto after = alerts();
  ASSERT_EQ(after.size(), before.size());
  for (const Alert& alert : after) EXPECT_FALSE(alert.until_ns) << alert.text;
  EXPECT_EQ(after[0].at_ns, before[0].at_ns);
}

TEST_F(StoredAlertsTest, AFrontEndThatTakesOverTellsNoLossAgain) {
  put(window_packet(0, 0, 10, account_row(0, 1, 15, false, 5)));
  ASSERT_TRUE(store_->commit());
  store_.reset();
  auto resumed = resume_sqlite_store({path_, path_, "run"});
  ASSERT_TRUE(resumed);
  store_ = std::move(resumed->store);
  put(window_packet(1, 0, 10, account_row(0, 1, 25, false, 5)));
  ASSERT_TRUE(store_->commit());
  EXPECT_THAT(alerts(), ElementsAre(Field(&Alert::value, 5)));
  put(window_packet(2, 0, 10, account_row(0, 1, 37, false, 7)));
  ASSERT_TRUE(store_->commit());
  EXPECT_THAT(alerts(), ElementsAre(Field(&Alert::value, 7)));
}

TEST_F(StoredAlertsTest, LossesOfRingsAndOfWindowsAreTold) {
  put(window_packet(0, 0, 10, account_row(0, 1, 10)));
  put(window_packet(1, 0, 10, account_row(0, 1, 25, false, 5)));
  put(tombstone_of(window_packet(2, 0, 10, account_row(0, 1, 30)), 4));
  ASSERT_TRUE(store_->commit());
  EXPECT_THAT(alerts(),
              ElementsAre(AllOf(Field(&Alert::kind, AlertKind::kLoss), Field(&Alert::value, 5)),
                          AllOf(Field(&Alert::kind, AlertKind::kLoss), Field(&Alert::value, 4))));
}

TEST_F(StoredAlertsTest, OfAFileOfAnOlderVersionThereAreNone) {
  ASSERT_TRUE(store_->end_run(0, 0));
  store_.reset();
  change_file(path_, back_to(10));
  EXPECT_THAT(alerts(), IsEmpty());
}

}  // namespace
}  // namespace xylem::storage
