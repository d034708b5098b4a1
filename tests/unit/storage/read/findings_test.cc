#include "storage/read/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "storage/read/run_findings.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A rank that runs from 1 s on and computes for so many seconds.
RankActivity rank_of(std::uint32_t rank, double useful_s, double runtime_s = 10,
                     std::uint32_t leaf = 1) {
  RankActivity it;
  it.rank = Rank{rank};
  it.leaf = LeafId{leaf};
  it.begin_ns = kSecond;
  it.end_ns = kSecond + static_cast<Nanos>(runtime_s * kSecond);
  it.mpi_ns = static_cast<std::uint64_t>((runtime_s - useful_s) * kSecond);
  return it;
}

FunctionActivity function_of(const char* name, double time_s, std::uint64_t calls = 100) {
  FunctionActivity it;
  it.name = name;
  it.calls = calls;
  it.time_ns = static_cast<std::uint64_t>(time_s * kSecond);
  it.max_ns = it.time_ns;
  return it;
}

const Finding* find(const Findings& findings, FindingKind kind) {
  const auto found = std::ranges::find(findings.findings, kind, &Finding::kind);
  return found == findings.findings.end() ? nullptr : &*found;
}

TEST(Efficiencies, AreThoseOfTheExampleInTheHeader) {
  const auto worlds = efficiencies({rank_of(0, 9), rank_of(1, 5), rank_of(2, 5), rank_of(3, 5)});
  ASSERT_EQ(worlds.size(), 1u);
  EXPECT_EQ(worlds[0].runtime_ns, 10 * kSecond);
  EXPECT_EQ(worlds[0].slowest, Rank{0});
  EXPECT_DOUBLE_EQ(worlds[0].load_balance(), 6.0 / 9);
  EXPECT_DOUBLE_EQ(worlds[0].communication(), 0.9);
  EXPECT_DOUBLE_EQ(worlds[0].parallel(), 0.6);
}

TEST(Efficiencies, CountTheRuntimeFromTheFirstStartToTheLastEnd) {
  RankActivity late = rank_of(1, 5, 5);
  late.begin_ns += 5 * kSecond;
  late.end_ns += 5 * kSecond;
  const auto worlds = efficiencies({rank_of(0, 5, 5), late});
  ASSERT_EQ(worlds.size(), 1u);
  EXPECT_EQ(worlds[0].runtime_ns, 10 * kSecond);
  EXPECT_DOUBLE_EQ(worlds[0].load_balance(), 1);
  EXPECT_DOUBLE_EQ(worlds[0].parallel(), 0.5);
}

TEST(Efficiencies, TakeTheMeanOverTheThreadsOfARank) {
  RankActivity rank = rank_of(0, 0);
  rank.threads = 4;
  rank.mpi_ns = static_cast<std::uint64_t>(10 * kSecond);  // One of four threads is always in MPI.
  EXPECT_EQ(rank.useful_ns(), 7'500 * kMillisecond);
}

TEST(Efficiencies, AreOfWorldsInWhichTimeHasPassed) {
  RankActivity starting = rank_of(0, 0, 0);
  EXPECT_TRUE(efficiencies({starting}).empty());
  EXPECT_TRUE(efficiencies({}).empty());
}

TEST(Efficiencies, AreWithinTheirBoundsAndMultiplyForAnyRanks) {
  std::mt19937 random(20261124);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<RankActivity> ranks(1 + random() % 9);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      ranks[i].rank = Rank{static_cast<std::uint32_t>(i)};
      ranks[i].begin_ns = random();
      ranks[i].end_ns = random();
      ranks[i].mpi_ns = random();
      ranks[i].threads = random() % 5;
    }
    for (const WorldEfficiency& world : efficiencies(ranks)) {
      for (const double part : {world.load_balance(), world.communication(), world.parallel()}) {
        EXPECT_GE(part, 0) << trial;
        EXPECT_LE(part, 1) << trial;
      }
      if (world.max_useful_ns == 0) continue;
      EXPECT_NEAR(world.parallel(), world.load_balance() * world.communication(), 1e-9) << trial;
    }
  }
}

TEST(Findings, OfARunInWhichAllIsWellAreOneSentenceWithTheNumbers) {
  Activity activity;
  for (std::uint32_t i = 0; i < 4; ++i) activity.ranks.push_back(rank_of(i, i == 0 ? 9.9 : 9.5));
  activity.functions = {function_of("MPI_Allreduce", 1.4)};
  const Findings found = make_findings(activity);
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].severity, Severity::kGood);
  EXPECT_EQ(found.findings[0].text,
            "nothing stands out: parallel efficiency 96 % = load balance 97 % x communication"
            " efficiency 99 % (4 ranks, 10.0 s)");
}

TEST(Findings, NameTheSlowestRankAndByHowMuchItIsAboveTheMean) {
  Activity activity;
  activity.ranks = {rank_of(0, 5), rank_of(1, 5), rank_of(2, 9), rank_of(3, 5)};
  activity.functions = {function_of("MPI_Barrier", 15, 30), function_of("MPI_Bcast", 1)};
  const Findings found = make_findings(activity);
  ASSERT_EQ(found.findings.size(), 3u);
  EXPECT_THAT(found.findings[0].text,
              StartsWith("parallel efficiency 60 % = load balance 67 % x communication efficiency"
                         " 90 %"));
  EXPECT_EQ(found.findings[0].severity, Severity::kWarning);
  const Finding* function = find(found, FindingKind::kFunction);
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(
      function->text,
      "MPI_Barrier takes 94 % of the time in MPI and 38 % of all time: 30 calls, 500 ms each");
  const Finding* slow = find(found, FindingKind::kImbalance);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->rank, Rank{2});
  EXPECT_DOUBLE_EQ(slow->value, 0.3);
  EXPECT_EQ(slow->text,
            "rank 2 computes longest: 9.00 s, 3.00 s above the mean of all ranks; the others wait"
            " for it");
}

TEST(Findings, SayWhoWaitsForWhomAndThatItIsAnEstimate) {
  Activity activity;
  activity.ranks = {rank_of(0, 4), rank_of(1, 9)};
  activity.waits = {{WorldId{0}, Rank{0}, Rank{1}, 5'000'000'000, 40},
                    {WorldId{0}, Rank{1}, Rank{0}, 500'000'000, 40}};
  activity.covered[WorldId{0}] = 0.61;
  const Findings found = make_findings(activity);
  const Finding* wait = find(found, FindingKind::kWait);
  ASSERT_NE(wait, nullptr);
  EXPECT_TRUE(wait->estimated);
  EXPECT_EQ(wait->rank, Rank{0});
  EXPECT_EQ(wait->peer, Rank{1});
  EXPECT_DOUBLE_EQ(wait->value, 0.5);
  EXPECT_EQ(wait->text,
            "rank 0 waits for rank 1: ~5.00 s (50 % of the time) in 40 calls that received from it,"
            " because it computes longest (estimated from receives, 61 % of the time in MPI)");
  EXPECT_EQ(wait->wait_kind, std::nullopt);
  EXPECT_EQ(wait->covered, 0.61);
}

/// Rank 3 waits for rank 1, and rank 2 is the root cause.
Activity with_wait_states() {
  Activity activity;
  activity.ranks = {rank_of(0, 4), rank_of(1, 4), rank_of(2, 9), rank_of(3, 4)};
  WaitReason reason{WaitKind::kLateSender, "MPI_Recv", Rank{2}, true, 14'000'000'000, 3};
  WaitReason other{WaitKind::kLateRoot, "MPI_Bcast", Rank{0}, true, 6'500'000'000, 1};
  activity.waits = {{WorldId{0}, Rank{1}, Rank{0}, 6'500'000'000, 9, other},
                    {WorldId{0}, Rank{3}, Rank{1}, 5'000'000'000, 40, reason}};
  activity.covered[WorldId{0}] = 1;
  return activity;
}

TEST(Findings, NameTheRootCauseOfMostWaitingByWaitStates) {
  const Findings found = make_findings(with_wait_states());
  const Finding* wait = find(found, FindingKind::kWait);
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->text,
            "rank 3 waits for rank 1: 5.00 s (50 % of the time) in 40 calls of MPI_Recv (late"
            " sender); the root cause is rank 2, because rank 2 computes longest; 3 ranks wait"
            " because of rank 2, 14.0 s in all");
  EXPECT_FALSE(wait->estimated);
  EXPECT_EQ(wait->rank, Rank{3});
  EXPECT_EQ(wait->peer, Rank{1});
  EXPECT_EQ(wait->root, Rank{2});
  EXPECT_EQ(wait->wait_kind, WaitKind::kLateSender);
  EXPECT_EQ(wait->function, "MPI_Recv");
}

TEST(Findings, SayIfWaitStatesAreOfSeveralKindsOrNotComplete) {
  Activity activity = with_wait_states();
  activity.waits[1].peer = Rank{2};
  activity.waits[1].reason->is_only = false;
  activity.covered[WorldId{0}] = 0.7;
  const Findings found = make_findings(activity);
  const Finding* wait = find(found, FindingKind::kWait);
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->text,
            "rank 3 waits for rank 2: 5.00 s (50 % of the time), most of it in 40 calls of MPI_Recv"
            " (late sender), because it computes longest; 3 ranks wait because of rank 2, 14.0 s in"
            " all (70 % of the time in blocking calls is analysed)");
}

TEST(Findings, PreferAWaitForTheSlowestRankToOneThatFollowsFromIt) {
  Activity activity;
  activity.ranks = {rank_of(0, 3), rank_of(1, 3), rank_of(2, 9.9), rank_of(3, 3)};
  activity.waits = {{WorldId{0}, Rank{0}, Rank{1}, 6'500'000'000, 40},
                    {WorldId{0}, Rank{3}, Rank{2}, 6'000'000'000, 40}};
  Findings found = make_findings(activity);
  ASSERT_NE(find(found, FindingKind::kWait), nullptr);
  EXPECT_EQ(find(found, FindingKind::kWait)->peer, Rank{2});
  activity.waits[1].time_ns = 1'500'000'000;  // Much shorter.
  found = make_findings(activity);
  EXPECT_EQ(find(found, FindingKind::kWait)->peer, Rank{1});
}

TEST(Findings, NameManySmallMessagesOnlyIfTheyCostTime) {
  Activity activity;
  for (std::uint32_t i = 0; i < 2; ++i) activity.ranks.push_back(rank_of(i, 5));
  activity.messages = {{WorldId{0}, 200'000, 1'600'000}};
  FunctionActivity send = function_of("MPI_Send", 10, 200'000);
  send.moves_messages = true;
  activity.functions = {send};
  const Finding* small = nullptr;
  const Findings found = make_findings(activity);
  small = find(found, FindingKind::kSmallMessages);
  ASSERT_NE(small, nullptr);
  EXPECT_DOUBLE_EQ(small->value, 8);
  EXPECT_THAT(small->text, StartsWith("200,000 messages of 8 B on average; the calls that move"
                                      " them take 50 % of all time"));
  activity.messages[0].messages = 10'000;  // 500 a second and rank.
  EXPECT_EQ(find(make_findings(activity), FindingKind::kSmallMessages), nullptr);
}

TEST(Findings, SayThatRanksComputeInTurn) {
  Activity activity;
  for (std::uint32_t i = 0; i < 4; ++i) activity.ranks.push_back(rank_of(i, 2.5));
  const Findings found = make_findings(activity);
  const Finding* serial = find(found, FindingKind::kSerialised);
  ASSERT_NE(serial, nullptr);
  EXPECT_DOUBLE_EQ(serial->value, 1);
  EXPECT_THAT(serial->text, StartsWith("on average 1.0 of 4 ranks compute at a time"));
}

TEST(Findings, CountTheRanksThatAHostHasAtTheSameTime) {
  Activity activity;
  activity.hosts = {{LeafId{1}, "node01", 2.0}, {LeafId{2}, "node02", 4.0}, {LeafId{3}, "n3", {}}};
  for (std::uint32_t i = 0; i < 9; ++i) activity.ranks.push_back(rank_of(i, 10, 10, 1 + i / 3));
  for (std::uint32_t i = 0; i < 3; ++i) {  // Another job on node02, afterwards.
    RankActivity rank = rank_of(i, 10, 10, 2);
    rank.world = WorldId{1};
    rank.begin_ns += 10 * kSecond;
    rank.end_ns += 10 * kSecond;
    activity.ranks.push_back(rank);
  }
  const Findings found = make_findings(activity);
  ASSERT_EQ(std::ranges::count(found.findings, FindingKind::kOversubscribed, &Finding::kind), 1);
  const Finding* crowd = find(found, FindingKind::kOversubscribed);
  EXPECT_EQ(crowd->host, "node01");
  EXPECT_DOUBLE_EQ(crowd->value, 1.5);
  EXPECT_EQ(crowd->text, "host node01 has 3 ranks on 2 cores: ranks share cores");
  activity.ranks[3].threads = 3;
  const Findings threads = make_findings(activity);
  EXPECT_EQ(std::ranges::count(threads.findings, FindingKind::kOversubscribed, &Finding::kind), 2);
}

TEST(Findings, DoNotJudgeARunThatIsTooShort) {
  Activity activity;
  activity.ranks = {rank_of(0, 0.001, 0.02), rank_of(1, 0.02, 0.02)};
  const Findings found = make_findings(activity);
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].kind, FindingKind::kTooShort);
  EXPECT_THAT(found.findings[0].text, StartsWith("only 20.0 ms between MPI_Init and MPI_Finalize"));
}

TEST(Findings, NameTheWorldIfThereAreSeveral) {
  Activity activity;
  activity.ranks = {rank_of(0, 9), rank_of(1, 9)};
  RankActivity other = rank_of(0, 5);
  other.world = WorldId{1};
  activity.ranks.push_back(other);
  const Findings found = make_findings(activity);
  ASSERT_GE(found.findings.size(), 2u);
  EXPECT_THAT(found.findings[0].text, StartsWith("world 0: "));  // It is larger.
  EXPECT_THAT(found.findings[1].text, StartsWith("world 1: parallel efficiency 50 %"));
}

TEST(Findings, SayHowManyCallsAreMissingAndThatTheNumbersAreEstimates) {
  Activity activity;
  activity.ranks = {rank_of(0, 9.6), rank_of(1, 9.6)};
  activity.lost = {{WorldId{0}, 1200}};
  const Findings found = make_findings(activity);
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].severity, Severity::kNote);
  EXPECT_TRUE(found.findings[0].estimated);
  EXPECT_THAT(found.findings[0].text, StartsWith("parallel efficiency ~96 % = "));
  EXPECT_THAT(found.findings[0].text, HasSubstr("(2 ranks, 10.0 s, without 1,200 lost calls)"));
}

TEST(Findings, OfNothingAreNone) { EXPECT_TRUE(make_findings({}).findings.empty()); }

using RunFindingsTest = StoredRun;

TEST_F(RunFindingsTest, OfAFileWithoutRanksAreNone) {
  ASSERT_TRUE(store_->commit());
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  const auto found = read_findings(**run, nullptr);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->findings.empty());
  EXPECT_TRUE(found->worlds.empty());
}

// Two ranks are watched from 1 s on, to 12 s and 11.5 s. Each spends 0.5 s in MPI_Init, which is
// function 10, and 1 s in MPI_Finalize, which is function 11.
TEST_F(RunFindingsTest, LeaveOutTheStartAndTheEndOfMpi) {
  wire::Registration registration;
  registration.host = "node1";
  registration.functions = {{FunctionId{10}, "MPI_Init", 1},
                            {FunctionId{11}, "MPI_Finalize", 1},
                            {kReceive, "MPI_Recv", 1}};
  registration.processes = {process_row(1, 0, 1, 2), process_row(2, 1, 1, 2)};
  put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(1)},
                   wire::encode(registration)));
  wire::ProfileWindow window;
  window.begin_ns = kSecond;
  window.end_ns = 13 * kSecond;
  for (const std::uint32_t lane : {1u, 2u}) {
    for (const auto& [function, time_ns] :
         {std::pair{FunctionId{10}, kSecond / 2}, std::pair{FunctionId{11}, kSecond},
          std::pair{kReceive, lane == 1 ? 4 * kSecond : kSecond}}) {
      wire::ProfileRow row = profile_row(1, lane, 1, function);
      row.time_ns = row.max_ns = row.min_ns = static_cast<std::uint64_t>(time_ns);
      window.rows.push_back(row);
    }
    wire::AccountRow account = account_row(1, lane, 3, true);
    account.since_ns = kSecond;
    account.until_ns = lane == 1 ? 12 * kSecond : 11 * kSecond + kSecond / 2;
    account.threads = 1;
    window.accounts.push_back(account);
  }
  put(window_packet(0, IntervalSet::of(1), window));
  ASSERT_TRUE(store_->put_host_facts({LeafId{1}, {{"cores", 1.0}}}, kSecond));
  ASSERT_TRUE(store_->commit());
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  const auto found = read_findings(**run, nullptr);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->worlds.size(), 1u);
  const WorldEfficiency& world = found->worlds[0];
  EXPECT_EQ(world.runtime_ns, 9'500 * kMillisecond);  // From 1.5 s to 11 s.
  EXPECT_EQ(world.max_useful_ns, 8 * kSecond);        // Rank 1: from 1.5 s to 10.5 s, less 1 s.
  EXPECT_DOUBLE_EQ(world.mean_useful_ns, 6.75 * kSecond);  // Rank 0: 9.5 s less 4 s.
  EXPECT_EQ(world.slowest, Rank{1});
  EXPECT_NE(find(*found, FindingKind::kOversubscribed), nullptr);
  for (const Finding& finding : found->findings)
    EXPECT_THAT(finding.function, Not(HasSubstr("Init")));
}

}  // namespace
}  // namespace xylem::storage
