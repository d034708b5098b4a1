#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/read/run_view.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Ne;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr FunctionId kAllreduce{7};

/// A run of two ranks on one host, with the store's default rules.
class StoredAlertsTest : public StoredRun {
 protected:
  StoredAlertsTest() : StoredRun(facts()) {
    wire::Registration registration;
    registration.functions = {{kSend, "MPI_Send", 1}, {kAllreduce, "MPI_Allreduce", 2}};
    registration.processes = {process_row(1, 0), process_row(2, 1)};
    put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(0)},
                     wire::encode(registration)));
  }

  static RunFacts facts() {
    RunFacts facts;
    facts.run_id = "run";
    facts.window_ns = kWindow;
    return facts;
  }

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
};

TEST_F(StoredAlertsTest, AreInTheFileAsSoonAsTheirWindows) {
  put_slow_windows(0, 60);
  const auto found = alerts();
  ASSERT_EQ(found.size(), 2u);
  for (const Alert& alert : found) {
    EXPECT_EQ(alert.rank, Rank{0});
    EXPECT_FALSE(alert.until_ns);
    EXPECT_GT(alert.value, 0.4);
  }
  ASSERT_TRUE(store_->end_run(0, 15 * kSecond));
  for (const Alert& alert : alerts()) EXPECT_TRUE(alert.until_ns);
}

TEST_F(StoredAlertsTest, AFrontEndThatTakesOverGoesOnWithThem) {
  put_slow_windows(0, 60);
  const auto before = alerts();
  resume();
  put_slow_windows(60, 180);
  const auto after = alerts();
  ASSERT_EQ(after.size(), before.size());
  for (const Alert& alert : after) EXPECT_FALSE(alert.until_ns) << alert.text;
  EXPECT_EQ(after[0].at_ns, before[0].at_ns);
}

TEST_F(StoredAlertsTest, AHostWithOneCoreForTwoRanksIsOversubscribedAlsoAfterATakeover) {
  ASSERT_TRUE(store_->put_host_facts({LeafId{0}, {{"cores", 1.0}}}, kSecond));
  const auto put_windows = [this](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t wave = first; wave < end; ++wave) {
      wire::ProfileWindow window;
      window.rows = {profile_row(0, 1, 10), profile_row(0, 2, 10)};
      put(window_packet(wave, IntervalSet::of(0), window));
      ASSERT_TRUE(store_->commit());
    }
  };
  put_windows(0, 20);
  const auto before = alerts();
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].kind, AlertKind::kOversubscribed);
  EXPECT_EQ(before[0].leaf, LeafId{0});
  EXPECT_DOUBLE_EQ(before[0].value, 2);
  resume();
  put_windows(20, 60);
  const auto after = alerts();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].id, before[0].id);
  EXPECT_FALSE(after[0].until_ns);
}

TEST_F(StoredAlertsTest, AreToldToTheListenerOnceAfterTheirCommit) {
  std::vector<std::string> told;
  SqliteOptions options;
  options.path = folder_.file("listened.db");
  options.on_alert = [&](const Alert& alert) {
    auto view = RunView::open(options.path);  // Another connection sees only committed data.
    ASSERT_TRUE(view);
    const auto found = view->alerts();
    ASSERT_TRUE(found);
    EXPECT_EQ(std::ranges::count(found->alerts, alert.id, &Alert::id), 1);
    told.push_back(alert.text);
  };
  auto made = make_sqlite_store(options);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE((*made)->begin_run(facts()));
  ASSERT_TRUE((*made)->put(registration_packet(0, {process_row(1, 0)})));
  for (std::uint64_t wave = 0; wave < 4; ++wave) {
    const std::uint64_t lost = 5 * (wave + 1);
    const wire::AccountRow account = account_row(0, 1, 10 * (wave + 1) + lost, false, lost);
    ASSERT_TRUE((*made)->put(window_packet(wave, 0, 10, account)));
    ASSERT_TRUE((*made)->commit());
  }
  ASSERT_EQ(told.size(), 1u);  // The later losses change the same alert.
  EXPECT_THAT(told[0], HasSubstr("5 calls of rank 0 were lost"));
}

TEST_F(StoredAlertsTest, AFrontEndThatTakesOverTellsNoLossAgain) {
  put(window_packet(0, 0, 10, account_row(0, 1, 15, false, 5)));
  ASSERT_TRUE(store_->commit());
  resume();
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
  EXPECT_THAT(alerts(), UnorderedElementsAre(
                            AllOf(Field(&Alert::kind, AlertKind::kLoss), Field(&Alert::value, 5)),
                            AllOf(Field(&Alert::kind, AlertKind::kLoss), Field(&Alert::value, 4))));
}

TEST_F(StoredAlertsTest, AHangIsToldByWhatTheAgentsSay) {
  wire::ProfileWindow window;
  window.rows = {profile_row(0, 1, 10, kAllreduce), profile_row(0, 2, 10, kAllreduce)};
  put(window_packet(0, IntervalSet::of(0), window));
  for (std::uint64_t wave = 8; wave < 60; wave += 4) {
    wire::ProfileWindow silent;
    for (std::uint32_t lane = 1; lane <= 2; ++lane) {
      wire::AccountRow account = account_row(0, lane, 11);
      account.silent_since_ns = kSecond;
      account.inside = lane == 1 ? kAllreduce : kSend;
      silent.accounts.push_back(account);
    }
    put(window_packet(wave, IntervalSet::of(0), silent));
    ASSERT_TRUE(store_->commit());
  }
  const auto found = alerts();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, AlertKind::kStalled);
  EXPECT_EQ(found[0].at_ns, kSecond);
  EXPECT_THAT(found[0].text, HasSubstr("1 in MPI_Allreduce, 1 in MPI_Send"));
}

// Windows of ranks that hang have time without calls.
TEST_F(StoredAlertsTest, AFrontEndThatTakesOverGoesOnWithAHang) {
  wire::ProfileWindow window;
  window.rows = {profile_row(0, 1, 10, kAllreduce), profile_row(0, 2, 10, kAllreduce)};
  put(window_packet(0, IntervalSet::of(0), window));
  const auto hang = [this](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t wave = first; wave < end; wave += 4) {
      wire::ProfileWindow silent;
      for (std::uint32_t lane = 1; lane <= 2; ++lane) {
        wire::ProfileRow row;
        row.leaf = LeafId{0};
        row.lane = Lane{lane};
        row.function = kAllreduce;
        row.time_ns = static_cast<std::uint64_t>(kWindow);
        silent.rows.push_back(row);
        silent.under_way.push_back({LeafId{0}, Lane{lane}, {}, kAllreduce, kSecond, {}, {}});
        wire::AccountRow account = account_row(0, lane, 11);
        account.silent_since_ns = kSecond;
        account.inside = kAllreduce;
        silent.accounts.push_back(account);
      }
      put(window_packet(wave, IntervalSet::of(0), silent));
      ASSERT_TRUE(store_->commit());
    }
  };
  hang(8, 60);
  const auto before = alerts();
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].kind, AlertKind::kStalled);
  EXPECT_EQ(before[0].at_ns, kSecond);
  resume();
  hang(60, 120);
  const auto after = alerts();
  ASSERT_EQ(after.size(), 1u) << "it is the same hang";
  EXPECT_EQ(after[0].id, before[0].id);
  EXPECT_EQ(after[0].at_ns, before[0].at_ns);
  EXPECT_FALSE(after[0].until_ns);
}

TEST_F(StoredAlertsTest, ALostHostIsToldOnceOverFrontEnds) {
  put(registration_packet(1, {process_row(1, 2), process_row(2, 3)}));
  put(window_packet(0, 1, 10, account_row(1, 1, 15)));
  ASSERT_TRUE(store_->put_host_lost(LeafId{1}, "host node1 was not heard of any more"));
  ASSERT_TRUE(store_->commit());
  const auto before = alerts();
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].kind, AlertKind::kLoss);
  EXPECT_EQ(before[0].value, 5);
  EXPECT_THAT(before[0].text, HasSubstr("host node1 is lost with 2 ranks (2, 3)"));
  resume();
  put(window_packet(0, 0, 10, account_row(0, 1, 10)));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(alerts(), before);
  ASSERT_TRUE(store_->put_host_lost(LeafId{1}, ""));
  ASSERT_TRUE(store_->commit());
  ASSERT_EQ(alerts().size(), 1u);
  EXPECT_TRUE(alerts()[0].until_ns);
}

TEST_F(StoredAlertsTest, TwoHostsOfOneNameStayTwoAlertsAfterAChangeOfFrontEnd) {
  put(registration_packet(1, {process_row(1, 2)}));
  put(registration_packet(2, {process_row(1, 3)}));
  ASSERT_TRUE(store_->commit());
  change_file(path_, "UPDATE host SET name = 'node'");
  for (const std::uint32_t leaf : {1, 2}) {
    ASSERT_TRUE(store_->put_host_lost(LeafId{leaf}, "it was not heard of any more"));
  }
  ASSERT_TRUE(store_->commit());
  ASSERT_EQ(alerts().size(), 2u);
  change_file(path_, "UPDATE alert SET text = 'host node is lost'");
  resume();
  ASSERT_TRUE(store_->put_host_lost(LeafId{2}, ""));
  ASSERT_TRUE(store_->commit());
  EXPECT_THAT(
      alerts(),
      ElementsAre(
          AllOf(Field(&Alert::leaf, LeafId{1}), Field(&Alert::until_ns, std::nullopt)),
          AllOf(Field(&Alert::leaf, LeafId{2}), Field(&Alert::until_ns, Ne(std::nullopt)))));
}

TEST_F(StoredAlertsTest, AHostWhoseRanksHadEndedLosesNothing) {
  put(registration_packet(1, {process_row(1, 2)}));
  put(window_packet(0, 1, 10, account_row(1, 1, 10, true)));
  ASSERT_TRUE(store_->put_host_lost(LeafId{1}, "host node1 was not heard of any more"));
  ASSERT_TRUE(store_->commit());
  EXPECT_THAT(alerts(), IsEmpty());
}

TEST_F(StoredAlertsTest, EventsThatAreGivenUpAreTold) {
  put(tombstone_of(chunk_packet(0, 1, 0, 40), 40));
  ASSERT_TRUE(store_->commit());
  ASSERT_EQ(alerts().size(), 1u);
  EXPECT_EQ(alerts()[0].rank, Rank{0});
  EXPECT_EQ(alerts()[0].text, "events of 40 calls of rank 0 were given up: the journal was full");
}

/// One alert for each subject, as written with schema 15.
constexpr const char* kAlertsOfSchema15 =
    "INSERT INTO alert(id, at_ns, kind, world, rank, text, value, threshold) VALUES"
    "(1, 5, 'stalled', 0, NULL, 'no rank goes on for 12 s: 2 in MPI_Recv', 12, 10),"
    "(2, 6, 'stalled', 0, 1, 'rank 1 was in one MPI_Send for 11.0 s', 11, 10),"
    "(3, 7, 'loss', 0, 1, '5 calls of rank 1 were lost: its ring was full', 5, 1),"
    "(4, 8, 'loss', 0, 1, 'events of 5 calls of rank 1 were given up: full', 5, 1),"
    "(5, 9, 'loss', 0, NULL, '5 calls of host node1 were given up: full', 5, 1),"
    "(6, 10, 'loss', 0, NULL, 'calls, not known how many, of several hosts were given up', 0, 1),"
    "(7, 11, 'loss', 0, 2, 'host node1 is lost with rank 2', 5, 1);";

TEST_F(StoredAlertsTest, AlertsInAFileOfSchema15HaveNoSubject) {
  ASSERT_TRUE(store_->end_run(0, 0));
  store_.reset();
  change_file(path_, kAlertsOfSchema15 + back_to(15));
  const auto found = alerts();
  ASSERT_EQ(found.size(), 7u);
  EXPECT_EQ(found.back().text, "no rank goes on for 12 s: 2 in MPI_Recv");
  for (const Alert& alert : found) EXPECT_EQ(alert.subject, std::nullopt);
}

TEST_F(StoredAlertsTest, ARunThatGoesOnInAFileOfSchema15GivesItsAlertsSubjects) {
  put(registration_packet(1, {process_row(1, 2)}));
  ASSERT_TRUE(store_->put_host_lost(LeafId{1}, "it was not heard of any more"));
  ASSERT_TRUE(store_->commit());
  store_.reset();
  change_file(path_, "DELETE FROM alert;" + (kAlertsOfSchema15 + back_to(15)));
  resume();
  std::vector<std::pair<AlertSubject, std::optional<LeafId>>> subjects;
  for (const Alert& alert : alerts()) subjects.emplace_back(alert.subject.value(), alert.leaf);
  EXPECT_THAT(
      subjects,
      ElementsAre(Pair(AlertSubject::kLostHost, LeafId{1}), Pair(AlertSubject::kHost, std::nullopt),
                  Pair(AlertSubject::kHost, LeafId{1}), Pair(AlertSubject::kEvents, std::nullopt),
                  Pair(AlertSubject::kRank, std::nullopt), Pair(AlertSubject::kRank, std::nullopt),
                  Pair(AlertSubject::kWorld, std::nullopt)));
  EXPECT_TRUE(alerts()[1].at_least);
  put(tombstone_of(window_packet(2, 1, 10, account_row(1, 1, 30)), 4));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(alerts().size(), 7u) << "the loss of the host belongs to the alert that is open";
}

TEST_F(StoredAlertsTest, OfAFileOfAnOlderVersionThereAreNone) {
  ASSERT_TRUE(store_->end_run(0, 0));
  store_.reset();
  change_file(path_, back_to(10));
  EXPECT_THAT(alerts(), IsEmpty());
}

}  // namespace
}  // namespace xylem::storage
