#include "storage/read/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "storage/read/run_findings.h"
#include "storage/read/run_findings_internal.h"
#include "tests/unit/changed_file.h"
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
  WaitReason reason{WaitKind::kLateSender, "MPI_Recv", Rank{2}, 5'000'000'000, 14'000'000'000, 3};
  WaitReason other{WaitKind::kLateRoot, "MPI_Bcast", Rank{0}, 6'500'000'000, 6'500'000'000, 1};
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

TEST(Findings, NameALongWaitEvenIfManyShortOnesAddUpToMore) {
  Activity activity = with_wait_states();
  activity.waits[1].time_ns = activity.waits[1].reason->longest_ns = 900'000'000;  // 9 %.
  const Findings found = make_findings(activity);
  const Finding* wait = find(found, FindingKind::kWait);
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->rank, Rank{1});
  EXPECT_EQ(wait->root, Rank{0});
  EXPECT_DOUBLE_EQ(wait->value, 0.65);
  activity.waits[0].time_ns = 900'000'000;
  EXPECT_EQ(find(make_findings(activity), FindingKind::kWait), nullptr);
}

TEST(Findings, SayIfWaitStatesAreNotComplete) {
  Activity activity = with_wait_states();
  activity.waits[1].peer = Rank{2};
  activity.waits[1].reason->longest_ns = 4'750'000'000;  // 95 %: nearly all.
  activity.covered[WorldId{0}] = 0.7;
  const Findings found = make_findings(activity);
  const Finding* wait = find(found, FindingKind::kWait);
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->text,
            "rank 3 waits for rank 2: 5.00 s (50 % of the time) in 40 calls of MPI_Recv (late"
            " sender), because it computes longest; 3 ranks wait because of rank 2, 14.0 s in"
            " all (70 % of the time in blocking calls is analysed)");
}

TEST(Findings, GiveTheTimeOfTheLongestPartIfARankWaitsInSeveralWays) {
  Activity activity = with_wait_states();
  activity.waits[1].reason->longest_ns = 1'900'000'000;
  Findings found = make_findings(activity);
  ASSERT_NE(find(found, FindingKind::kWait), nullptr);
  EXPECT_EQ(find(found, FindingKind::kWait)->text,
            "rank 3 waits 5.00 s (50 % of the time) because of rank 2, which computes longest; the"
            " longest part is 1.90 s for rank 1 in 40 calls of MPI_Recv (late sender); 3 ranks wait"
            " because of rank 2, 14.0 s in all");
  EXPECT_DOUBLE_EQ(find(found, FindingKind::kWait)->value, 0.5);
  activity.ranks[2] = rank_of(2, 4);
  found = make_findings(activity);
  EXPECT_THAT(find(found, FindingKind::kWait)->text,
              HasSubstr(" because of rank 2; the longest part is 1.90 s for rank 1 in 40 calls"));
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
  activity.functions[0].estimated = true;
  const Findings sampled = make_findings(activity);
  EXPECT_THAT(find(sampled, FindingKind::kSmallMessages)->text,
              HasSubstr("them take ~50 % of all time"));
  activity.messages[0].messages = 10'000;  // 500 a second and rank.
  EXPECT_EQ(find(make_findings(activity), FindingKind::kSmallMessages), nullptr);
}

TEST(Findings, SayThatRanksComputeInTurnIfTheTraceShowsIt) {
  Activity activity;
  for (std::uint32_t i = 0; i < 4; ++i) activity.ranks.push_back(rank_of(i, 2.5));
  EXPECT_EQ(find(make_findings(activity), FindingKind::kSerialised), nullptr)
      << "slow messages may cause the same efficiency";
  activity.turns = {{WorldId{0}, 10 * kSecond, 9 * kSecond, 3 * kSecond}};
  const Findings found = make_findings(activity);
  const Finding* serial = find(found, FindingKind::kSerialised);
  ASSERT_NE(serial, nullptr);
  EXPECT_DOUBLE_EQ(serial->value, 1);
  EXPECT_EQ(serial->text,
            "ranks compute in turn: on average 1.0 of 4 ranks compute at a time, and for 90 % of"
            " the computing time only one");
  activity.turns[0].alone_ns = 7 * kSecond;
  EXPECT_EQ(find(make_findings(activity), FindingKind::kSerialised), nullptr) << "three at a time";
  activity.turns[0] = {WorldId{0}, 10 * kSecond, 9 * kSecond, 6 * kSecond};
  EXPECT_EQ(find(make_findings(activity), FindingKind::kSerialised), nullptr) << "always the same";
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
  EXPECT_EQ(crowd->text,
            "host node01 has 3 ranks on 2 cores: ranks share cores, each has at most 67 % of one on"
            " average; the time that a rank waits for a core counts as computing");
  activity.ranks[3].threads = 3;
  const Findings threads = make_findings(activity);
  EXPECT_EQ(std::ranges::count(threads.findings, FindingKind::kOversubscribed, &Finding::kind), 2);
}

TEST(Findings, PutMissingCoresFirstOnlyIfRanksCompute) {
  Activity activity;
  activity.hosts = {{LeafId{1}, "vm", 2.0}};
  activity.ranks = {rank_of(0, 1), rank_of(1, 1), rank_of(2, 9), rank_of(3, 1)};
  EXPECT_EQ(make_findings(activity).findings.at(1).kind, FindingKind::kImbalance);
  activity.ranks = {rank_of(0, 8), rank_of(1, 8), rank_of(2, 9.9), rank_of(3, 8)};
  EXPECT_EQ(make_findings(activity).findings.at(1).kind, FindingKind::kOversubscribed);
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

/// Four ranks, each of which computes for 3 s of 10 s, and the rest of the time is in a barrier.
Activity alike_ranks() {
  Activity activity;
  for (std::uint32_t i = 0; i < 4; ++i) activity.ranks.push_back(rank_of(i, i == 0 ? 3.1 : 3));
  activity.functions = {function_of("MPI_Barrier", 27.9)};
  return activity;
}

TEST(Findings, TellAnImbalanceThatMovesFromRankToRank) {
  Activity activity = alike_ranks();
  SliceActivity slices;
  slices.slice_ns = 250 * kMillisecond;
  slices.max_useful_ns = 8.0 * kSecond;
  slices.mean_useful_ns = 3.0 * kSecond;
  slices.slowest = {{Rank{2}}, {Rank{0}, 4}, {Rank{2}}};
  activity.slices = {slices};
  const Findings found = make_findings(activity);
  const Finding* moving = find(found, FindingKind::kMovingImbalance);
  ASSERT_NE(moving, nullptr);
  EXPECT_NEAR(moving->value, 0.5 - 0.0075, 1e-9);  // (3.1 s - 3.025 s) / 10 s is no moving part.
  EXPECT_EQ(
      moving->text,
      "the slowest rank changes (2, 0-3, 2): in slices of 250 ms it computes 5.00 s longer than"
      " the mean of all ranks, over the whole run only 75.0 ms; the others wait for it");
  EXPECT_EQ(moving, &found.findings[1]) << "it explains the barriers";
  EXPECT_STREQ(finding_kind_name(moving->kind), "moving_imbalance");
}

TEST(Findings, TellNoMovingImbalanceIfOneRankIsAlwaysSlowest) {
  Activity activity = alike_ranks();
  SliceActivity slices;
  slices.slice_ns = 250 * kMillisecond;
  slices.max_useful_ns = 8.0 * kSecond;
  slices.mean_useful_ns = 3.0 * kSecond;
  slices.slowest = {{Rank{0}}};
  activity.slices = {slices};
  EXPECT_EQ(find(make_findings(activity), FindingKind::kMovingImbalance), nullptr);
  activity.slices[0].slowest = {{Rank{0}}, {Rank{1}}};
  activity.slices[0].max_useful_ns = 4.0 * kSecond;  // 10 % above, of which 0.75 % are imbalance.
  EXPECT_EQ(find(make_findings(activity), FindingKind::kMovingImbalance), nullptr);
}

/// Four ranks on two hosts, 0 and 1 on the first, whose messages take half of the time.
Activity two_hosts(std::uint64_t bytes_between) {
  Activity activity;
  for (std::uint32_t i = 0; i < 4; ++i) activity.ranks.push_back(rank_of(i, 5, 10, 1 + i / 2));
  activity.hosts = {{LeafId{1}, "node1", {}}, {LeafId{2}, "node2", {}}};
  activity.functions = {function_of("MPI_Sendrecv", 20)};
  activity.functions[0].moves_messages = true;
  MessageActivity messages;
  messages.messages = 1000;
  messages.bytes = 1000 << 20;
  messages.bytes_between_hosts = bytes_between;
  messages.source = Rank{0};
  messages.destination = Rank{2};
  messages.pair_bytes = bytes_between / 4;
  activity.messages = {messages};
  return activity;
}

TEST(Findings, TellAMappingThatIsWorseThanChance) {
  const Findings found = make_findings(two_hosts(1000 << 20));
  const Finding* mapping = find(found, FindingKind::kMapping);
  ASSERT_NE(mapping, nullptr);
  EXPECT_EQ(mapping->rank, Rank{0});
  EXPECT_EQ(mapping->peer, Rank{2});
  EXPECT_DOUBLE_EQ(mapping->value, 1);
  // Of the 6 pairs of ranks, 4 are on different hosts.
  EXPECT_EQ(mapping->text,
            "100 % of the payload of messages goes between hosts, with ranks on hosts at random it"
            " would be 67 %; rank 0 sends most to rank 2 on another host (250 MiB): put ranks that"
            " exchange much on the same host");
  EXPECT_STREQ(finding_kind_name(mapping->kind), "mapping");
}

TEST(Findings, TellNoMappingThatIsAboutAsGoodAsChance) {
  EXPECT_EQ(find(make_findings(two_hosts(800 << 20)), FindingKind::kMapping), nullptr);
  EXPECT_NE(find(make_findings(two_hosts(840 << 20)), FindingKind::kMapping), nullptr);
  Activity quick = two_hosts(1000 << 20);
  quick.functions[0].time_ns /= 4;  // Messages take 12.5 % of the time.
  EXPECT_EQ(find(make_findings(quick), FindingKind::kMapping), nullptr);
  Activity alone = two_hosts(1000 << 20);  // With a rank on each host, no mapping is better.
  for (std::uint32_t i = 0; i < 4; ++i) alone.ranks[i].leaf = LeafId{i};
  EXPECT_EQ(find(make_findings(alone), FindingKind::kMapping), nullptr);
}

TEST(Findings, CountCommunicatorsThatAreNotFreed) {
  Activity activity;
  activity.ranks = {rank_of(0, 9.9), rank_of(1, 9.9)};
  activity.functions = {function_of("MPI_Comm_dup", 0.1, 200),
                        function_of("MPI_Comm_split", 0.1, 20)};
  const Findings found = make_findings(activity);
  const Finding* leak = find(found, FindingKind::kCommunicators);
  ASSERT_NE(leak, nullptr);
  EXPECT_DOUBLE_EQ(leak->value, 110);
  EXPECT_EQ(leak->text,
            "a rank makes up to 110 communicators on average (MPI_Comm_dup, MPI_Comm_split) and"
            " frees none of them: an MPI library has room for a limited number; making them takes"
            " 1 % of all time");
  EXPECT_STREQ(finding_kind_name(leak->kind), "communicators");
  activity.functions[1].estimated = true;
  const Findings sampled = make_findings(activity);
  EXPECT_THAT(find(sampled, FindingKind::kCommunicators)->text,
              HasSubstr("making them takes ~1 % of all time"));
  activity.functions.push_back(function_of("MPI_Comm_free", 0.1, 1));  // Of one rank of two.
  const Findings few = make_findings(activity);
  ASSERT_NE(find(few, FindingKind::kCommunicators), nullptr);
  EXPECT_THAT(find(few, FindingKind::kCommunicators)->text, HasSubstr("frees almost none of them"));
  activity.functions.back().calls = 180;
  EXPECT_EQ(find(make_findings(activity), FindingKind::kCommunicators), nullptr);
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

RunFacts facts_with_windows() {
  RunFacts facts;
  facts.window_ns = 250 * kMillisecond;
  return facts;
}

class SlicedRunTest : public StoredRun {
 protected:
  SlicedRunTest() : StoredRun(facts_with_windows()) {}
};

// Two ranks on two hosts meet in each window. Rank 0 is slow in the first four windows, rank 1 in
// the next four: the slow one is in MPI for 50 ms of the 250 ms, the other for 200 ms.
TEST_F(SlicedRunTest, HasTheImbalanceOfEachSliceAndThePayloadBetweenHosts) {
  for (const std::uint32_t leaf : {1u, 2u}) {
    put(registration_packet(leaf, {process_row(1, leaf - 1, 1, 2)}));
  }
  for (std::uint64_t wave = 0; wave < 8; ++wave) {
    for (const std::uint32_t leaf : {1u, 2u}) {
      const bool is_slow = (wave < 4) == (leaf == 1);
      wire::ProfileWindow window;
      wire::ProfileRow row = profile_row(leaf, 1, 1, kReceive);
      row.time_ns = row.max_ns = row.min_ns = (is_slow ? 50 : 200) * kMillisecond;
      row.calls_so_far = wave + 1;
      window.rows = {row};
      window.matrix = {{LeafId{leaf}, Lane{1}, Rank{2 - leaf}, 100 * leaf, 1}};
      wire::AccountRow account = account_row(leaf, 1, wave + 1, wave == 7);
      account.since_ns = 0;
      if (wave == 7) account.until_ns = 2 * kSecond;
      account.threads = 1;
      window.accounts = {account};
      put(window_packet(wave, IntervalSet::of(leaf), window));
    }
  }
  ASSERT_TRUE(store_->commit());
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  Inquiry inquiry(**run);
  const Activity activity = read_activity(inquiry, nullptr);
  ASSERT_FALSE(inquiry.failure) << inquiry.failure->message;
  ASSERT_EQ(activity.slices.size(), 1u);
  const SliceActivity& slices = activity.slices[0];
  EXPECT_EQ(slices.slice_ns, 250 * kMillisecond);
  EXPECT_DOUBLE_EQ(slices.max_useful_ns, 8 * 200.0 * kMillisecond);
  EXPECT_DOUBLE_EQ(slices.mean_useful_ns, 8 * 125.0 * kMillisecond);
  EXPECT_EQ(slices.slowest, (std::vector<RankGroup>{{Rank{0}}, {Rank{1}}}));
  EXPECT_FALSE(slices.has_more);
  ASSERT_EQ(activity.messages.size(), 1u);
  EXPECT_EQ(activity.messages[0].messages, 16u);
  EXPECT_EQ(activity.messages[0].bytes, 8u * 300);
  EXPECT_EQ(activity.messages[0].bytes_between_hosts, 8u * 300);
  EXPECT_EQ(activity.messages[0].source, Rank{1});
  EXPECT_EQ(activity.messages[0].pair_bytes, 1600u);
  const Findings found = make_findings(activity);
  const Finding* moving = find(found, FindingKind::kMovingImbalance);
  ASSERT_NE(moving, nullptr);
  EXPECT_NEAR(moving->value, 0.3, 1e-9);
}

/// Four ranks compute for 1 s of 4 s each, one after the other, and wait for the rest of the time.
/// Each wait is in a chunk of its own.
class TurnsTest : public SlicedRunTest {
 protected:
  TurnsTest() {
    std::vector<wire::ProcessRow> rows;
    for (std::uint32_t rank = 0; rank < 4; ++rank) rows.push_back(process_row(rank + 1, rank));
    put(registration_packet(1, rows));
    wire::ProfileWindow window;
    window.end_ns = 4 * kSecond;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      for (std::uint64_t i = 0; i < 2; ++i) {
        wire::Event event;
        event.function = kReceive;
        event.begin_ns = i == 0 ? 0 : (rank + 1) * kSecond;
        event.end_ns = i == 0 ? rank * kSecond : 4 * kSecond;
        put(chunk_packet(1, rank + 1, i, {event}));
      }
      wire::ProfileRow row = profile_row(1, rank + 1, 2, kReceive);
      row.time_ns = 3 * static_cast<std::uint64_t>(kSecond);
      row.max_ns = 3 * static_cast<std::uint64_t>(kSecond);
      window.rows.push_back(row);
      wire::AccountRow account = account_row(1, rank + 1, 2, true);
      account.since_ns = 0;
      account.until_ns = 4 * kSecond;
      account.threads = 1;
      window.accounts.push_back(account);
    }
    put(window_packet(0, IntervalSet::of(1), window));
    EXPECT_TRUE(store_->commit());
  }

  /// The activity of the file. A failure is a failure of the test.
  Activity activity() {
    auto run = RunFile::open(path_);
    EXPECT_TRUE(run) << run.error().message;
    if (!run) return {};
    Inquiry inquiry(**run);
    Activity found = read_activity(inquiry, nullptr);
    EXPECT_FALSE(inquiry.failure) << inquiry.failure->message;
    return found;
  }
};

TEST_F(RunFindingsTest, AddUpTheWaitsOfARankForSeveralRanksWithOneRootCause) {
  ASSERT_TRUE(store_->commit());
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  const auto row = [](std::uint32_t rank, std::uint32_t cause, Nanos time_ns, std::uint64_t calls) {
    return WaitState{WorldId{0}, Rank{rank}, Rank{cause}, Rank{2}, WaitKind::kLateSender,
                     "MPI_Recv", time_ns,    calls};
  };
  WaitStates states;  // Rank 5 has the longest wait, but rank 3 waits longest.
  states.rows = {row(5, 2, 45, 7), row(3, 1, 34, 40), row(3, 0, 33, 41), row(3, 2, 33, 42)};
  Inquiry inquiry(**run);
  const Activity activity = read_activity(inquiry, &states);
  ASSERT_FALSE(inquiry.failure) << inquiry.failure->message;
  ASSERT_EQ(activity.waits.size(), 1u);
  const WaitActivity& wait = activity.waits[0];
  EXPECT_EQ(wait.rank, Rank{3});
  EXPECT_EQ(wait.time_ns, 100u);
  EXPECT_EQ(wait.peer, Rank{1});
  EXPECT_EQ(wait.calls, 40u);
  ASSERT_TRUE(wait.reason);
  EXPECT_EQ(wait.reason->root, Rank{2});
  EXPECT_EQ(wait.reason->longest_ns, 34u);
  EXPECT_EQ(wait.reason->in_all_ns, 145u);
  EXPECT_EQ(wait.reason->ranks, 2u);
}

TEST_F(TurnsTest, HaveTheTimeInWhichOneRankComputesAlone) {
  const Activity found = activity();
  ASSERT_EQ(found.turns.size(), 1u);
  EXPECT_EQ(found.turns[0].computing_ns, 4 * kSecond);
  EXPECT_EQ(found.turns[0].alone_ns, 4 * kSecond);
  EXPECT_EQ(found.turns[0].longest_alone_ns, kSecond);
}

TEST_F(TurnsTest, ADamagedChunkLeavesTheOtherFindings) {
  change_file(path_, "UPDATE event_chunk SET chunk = substr(chunk, 1, 20) WHERE id = 3");
  const Activity found = activity();
  EXPECT_TRUE(found.turns.empty());
  EXPECT_EQ(found.ranks.size(), 4u);
  EXPECT_NE(find(make_findings(found), FindingKind::kFunction), nullptr);
}

TEST_F(TurnsTest, ABurstOfEventsIsNotRead) {
  // The call of rank 1 from 0 s to 1 s. If its chunk were opened, there would be no turns.
  change_file(path_,
              "UPDATE event_chunk SET events = 100000000, chunk = substr(chunk, 1, 20)"
              " WHERE end_ns = 1000000000");
  const Activity found = activity();
  ASSERT_EQ(found.turns.size(), 1u);
  EXPECT_EQ(found.turns[0].computing_ns, kSecond) << "from 1.5 s to 2.5 s";
  EXPECT_EQ(found.turns[0].alone_ns, kSecond);
  EXPECT_EQ(found.turns[0].longest_alone_ns, kSecond / 2);
}

TEST_F(TurnsTest, ABurstInTheMiddleIsNotJudged) {
  change_file(path_, "UPDATE event_chunk SET events = 100000000 WHERE begin_ns = 1000000000");
  EXPECT_TRUE(activity().turns.empty()) << "the call of rank 0 from 1 s to 4 s";
}

}  // namespace
}  // namespace xylem::storage
