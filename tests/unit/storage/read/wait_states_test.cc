// Wait states of programs whose waits are known by construction.

#include "storage/read/wait_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "storage/read/wait_causes_internal.h"
#include "tests/unit/storage/read/wait_program.h"

namespace xylem::storage {
namespace {

using namespace wait_program;

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(CallRole, KnowsHowAFunctionWaits) {
  EXPECT_EQ(role_of("MPI_Recv", "point_to_point"), CallRole::kBlockingReceive);
  EXPECT_EQ(role_of("MPI_Recv_c", "point_to_point"), CallRole::kBlockingReceive);
  EXPECT_EQ(role_of("MPI_Alltoallw", "collective"), CallRole::kSynchronising);
  EXPECT_EQ(role_of("MPI_Ibarrier", "collective"), CallRole::kOtherCollective);
  EXPECT_EQ(role_of("MPI_Barrier_init", "collective"), CallRole::kOtherCollective);
  EXPECT_EQ(role_of("MPI_Scan", "collective"), CallRole::kNotAnalysed);
  EXPECT_EQ(role_of("MPI_Test", "completion"), CallRole::kOther);
  EXPECT_EQ(role_of("MPI_Mprobe", "probe"), CallRole::kProbe);
  EXPECT_EQ(role_of("MPI_Iprobe", "probe"), CallRole::kOther);
  EXPECT_TRUE(may_wait(CallRole::kNotAnalysed));
  EXPECT_FALSE(may_wait(CallRole::kOtherCollective));
}

TEST(WaitStates, AReceiveWaitsUntilItsMessageIsSent) {
  Program program(2);
  program.receive(0, 1, 10, 100);
  program.send(1, 0, 90, 95);
  const WaitStates states = program.analyse();
  EXPECT_THAT(lines(states), ElementsAre("0 for 1 root 1: late_sender MPI_Recv 80 ns, 1"));
  ASSERT_EQ(states.worlds.size(), 1u);
  EXPECT_EQ(states.worlds[0].blocking, (WaitCoverage::Part{2, 95}));
  EXPECT_EQ(states.worlds[0].analysed, (WaitCoverage::Part{2, 95}));
  EXPECT_EQ(states.worlds[0].waiting_ns, 80);
  EXPECT_EQ(states.worlds[0].share(), 1);
}

TEST(WaitStates, AReceiveOfAMessageThatWasSentBeforeDoesNotWait) {
  Program program(2);
  program.send(1, 0, 0, 5);
  program.receive(0, 1, 10, 100);
  EXPECT_THAT(lines(program.analyse()), IsEmpty());
}

TEST(WaitStates, NoWaitIsLongerThanItsCall) {
  Program program(2);
  program.receive(0, 1, 10, 100);
  program.send(1, 0, 200, 205);  // Clocks differ.
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("0 for 1 root 1: late_sender MPI_Recv 90 ns, 1"));
}

TEST(WaitStates, ACallThatWaitsForSeveralMessagesIsChargedWhatEachOneAdds) {
  constexpr Nanos kCentisecond = 10 * kMillisecond;
  Program program(3);
  program.call(0, kWaitallCall, 0, 420 * kCentisecond);
  program.completion(0, 2);
  program.completion(0, 1);
  program.send(1, 0, 16 * kCentisecond, 17 * kCentisecond, kIsend);
  program.send(2, 0, 419 * kCentisecond, 420 * kCentisecond, kIsend);
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("0 for 2 root 2: late_sender MPI_Waitall 4030000000 ns, 1",
                          "0 for 1 root 1: late_sender MPI_Waitall 160000000 ns, 1"));
}

TEST(WaitStates, AWaitForAnImmediateReceiveIsALateSenderToo) {
  Program program(2);
  program.call(0, kIrecv, 0, 1).event.request = 5;
  program.receive(0, 1, 10, 50, kWaitCall).event.request = 5;
  program.send(1, 0, 40, 41);
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("0 for 1 root 1: late_sender MPI_Wait 30 ns, 1"));
}

TEST(WaitStates, ASendWaitsForItsReceiveOnlyIfItReturnedAfterIt) {
  Program program(2);
  program.send(0, 1, 0, 100);
  program.receive(1, 0, 90, 105);
  program.send(0, 1, 200, 210);  // Buffered.
  program.receive(1, 0, 290, 300);
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("0 for 1 root 1: late_receiver MPI_Send 90 ns, 1"));
}

TEST(WaitStates, ASendWaitsUntilAnImmediateReceiveIsPosted) {
  Program program(2);
  program.send(0, 1, 0, 100);
  program.call(1, kIrecv, 60, 61).event.request = 5;
  program.receive(1, 0, 500, 505, kWaitCall).event.request = 5;
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("0 for 1 root 1: late_receiver MPI_Send 60 ns, 1"));
}

TEST(WaitStates, ASendrecvIsChargedForItsReceiveFirst) {
  Program program(3);
  program.sendrecv(0, 1, 2, 0, 102);  // Gets its message when it is sent at 80.
  program.call(2, kRecv, 0, 1);
  program.send(2, 0, 80, 81);
  program.receive(1, 0, 60, 102);
  program.sendrecv(0, 1, 2, 200, 302);
  program.send(2, 0, 240, 241);
  program.receive(1, 0, 290, 302);
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("0 for 2 root 2: late_sender MPI_Sendrecv 120 ns, 2",
                          "0 for 1 root 1: late_receiver MPI_Sendrecv 50 ns, 1"));
}

TEST(WaitStates, ASmallMessageInASendrecvIsBuffered) {
  Program program(3);
  program.sendrecv(0, 1, 2, 0, 102);
  program.ranks()[0][0].event.bytes = 1023;
  program.send(2, 0, 20, 21);
  program.receive(1, 0, 60, 102);
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("0 for 2 root 2: late_sender MPI_Sendrecv 20 ns, 1"));
}

TEST(WaitStates, AllWaitForTheLastRankAtACollective) {
  Program program(3);
  program.collective(0, kBarrier, 0, 101);
  program.collective(1, kBarrier, 100, 102);
  program.collective(2, kBarrier, 40, 99);
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("0 for 1 root 1: wait_at_collective MPI_Barrier 100 ns, 1",
                          "2 for 1 root 1: wait_at_collective MPI_Barrier 59 ns, 1"));
}

TEST(WaitStates, RanksWaitForTheRootOfABroadcastAndTheRootOfAReductionForTheLastRank) {
  Program program(3);
  program.collective(0, kBcast, 0, 60, 1);
  program.collective(1, kBcast, 50, 55, 1);
  program.collective(2, kBcast, 80, 85, 1);
  program.collective(0, kReduce, 100, 105, 1);
  program.collective(1, kReduce, 100, 190, 1);
  program.collective(2, kReduce, 180, 185, 1);
  const WaitStates states = program.analyse();
  EXPECT_THAT(lines(states), ElementsAre("1 for 2 root 2: early_root MPI_Reduce 80 ns, 1",
                                         "0 for 1 root 1: late_root MPI_Bcast 50 ns, 1"));
  EXPECT_EQ(states.worlds[0].share(), 1);
}

TEST(WaitStates, InARingWithASlowRankTheSlowRankIsTheRootCauseOfAllWaits) {
  // Each rank sends to the next. Rank 2 computes for 1000 before each step, the others for 10.
  constexpr std::uint32_t kRanks = 4;
  constexpr int kSteps = 30;
  Program program(kRanks);
  std::vector<Nanos> at(kRanks);
  Nanos waited = 0;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<Nanos> begin(kRanks);
    for (std::uint32_t r = 0; r < kRanks; ++r) begin[r] = at[r] + (r == 2 ? 1000 : 10);
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      const std::uint32_t from = (r + kRanks - 1) % kRanks;
      at[r] = std::max(begin[r], begin[from]) + 1;
      waited += std::max<Nanos>(0, begin[from] - begin[r]);
      program.sendrecv(r, (r + 1) % kRanks, from, begin[r], at[r]);
    }
  }
  const WaitStates states = program.analyse();
  Nanos sum = 0, of_two = 0;
  for (const WaitState& row : states.rows) {
    EXPECT_EQ(row.kind, WaitKind::kLateSender) << lines(states)[0];
    sum += row.time_ns;
    if (row.root_rank == Rank{2}) of_two += row.time_ns;
  }
  EXPECT_EQ(sum, waited);
  EXPECT_GT(waited, 20 * 3 * 900);
  // In the rest, a rank waits for the 10 ns in which its neighbour computes.
  EXPECT_GT(static_cast<double>(of_two), 0.98 * static_cast<double>(sum));
  for (const std::uint32_t rank : {0u, 1u}) {
    const auto found = std::ranges::find(states.rows, Rank{rank}, &WaitState::rank);
    ASSERT_NE(found, states.rows.end());
    EXPECT_EQ(found->cause_rank, Rank{(rank + 3) % 4});
  }
}

TEST(WaitStates, AWaitMayHaveSeveralRootCausesOneAfterAnother) {
  Program program(3);
  program.receive(0, 1, 0, 101);
  program.receive(1, 2, 20, 70);  // Rank 1 computes from 0, waits from 20 to 70, computes to 100.
  program.send(2, 1, 70, 72);
  program.send(1, 0, 100, 101);
  EXPECT_THAT(lines(program.analyse()),
              UnorderedElementsAre("0 for 1 root 1: late_sender MPI_Recv 50 ns, 1",
                                   "0 for 1 root 2: late_sender MPI_Recv 50 ns, 1",
                                   "1 for 2 root 2: late_sender MPI_Recv 50 ns, 1"));
}

TEST(WaitStates, AThreadThatHasWaitedIsNoRootCauseBeforeItsCallReturns) {
  Program program(3);
  program.receive(0, 1, 0, 101);
  program.receive(1, 2, 0, 90);  // The message is sent at 30 and is on its way until 90.
  program.send(2, 1, 30, 32);
  program.send(1, 0, 100, 101);
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("0 for 1 root 2: late_sender MPI_Recv 90 ns, 1",
                          "1 for 2 root 2: late_sender MPI_Recv 30 ns, 1",
                          "0 for 1 root 1: late_sender MPI_Recv 10 ns, 1"));
}

TEST(WaitStates, ACircleOfWaitsByClocksThatDifferEnds) {
  Program program(2);
  program.receive(0, 1, 0, 100);
  program.receive(1, 0, 0, 140);
  program.send(0, 1, 150, 151);
  program.send(1, 0, 150, 151);
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("1 for 0 root 0: late_sender MPI_Recv 140 ns, 1",
                          "0 for 1 root 1: late_sender MPI_Recv 100 ns, 1"));
}

TEST(WaitStates, OnlyTheThreadThatCausesAWaitIsFollowed) {
  WaitAnalysis analysis(functions());
  for (std::uint32_t rank = 0; rank < 3; ++rank) analysis.add_process(WorldId{0}, Rank{rank});
  analysis.expect_threads(ProcessIndex{1});
  Program program(3);
  program.receive(0, 1, 0, 101);
  program.receive(1, 2, 0, 90).event.thread = ThreadIndex{1};  // Another thread waits for rank 2.
  program.send(2, 1, 89, 90);
  program.send(1, 0, 100, 101);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    for (const ProgramEvent& of : program.ranks()[rank])
      analysis.add(ProcessIndex{rank}, of.function, of.event);
  }
  EXPECT_THAT(lines(analysis.finish()),
              ElementsAre("0 for 1 root 1: late_sender MPI_Recv 100 ns, 1",
                          "1 for 2 root 2: late_sender MPI_Recv 89 ns, 1"));
}

TEST(WaitStates, CallsThatCannotBeAnalysedAreCountedByTheirReason) {
  Program program(2);
  program.receive(0, 1, 0, 10);                                     // Its send is missing.
  program.receive(0, 1, 20, 40).event.flags = wire::kEventReceive;  // Without a number.
  program.call(0, kWaitCall, 50, 80);                               // For a send.
  program.call(0, kWaitallCall, 100, 140);                          // The same.
  program.collective(0, kScan, 200, 250);
  program.collective(1, kScan, 200, 250);
  program.collective(0, kBarrier, 300, 360);   // Rank 1 ends before.
  program.collective(0, kIbarrier, 400, 500);  // Does not block.
  const WaitStates states = program.analyse();
  EXPECT_THAT(lines(states), IsEmpty());
  const WaitCoverage& world = states.worlds.at(0);
  EXPECT_THAT(world.not_analysed,
              ElementsAre(WaitCoverage::Part{1, 20}, WaitCoverage::Part{2, 70},
                          WaitCoverage::Part{0, 0}, WaitCoverage::Part{4, 170}));
  EXPECT_EQ(world.blocking, (WaitCoverage::Part{7, 260}));
  EXPECT_EQ(world.analysed, WaitCoverage::Part{});
}

TEST(WaitStates, ACollectiveIsNotAnalysedIfTheEventOfARankIsMissing) {
  Program program(2);
  for (Nanos i = 0; i < 3; ++i) {
    program.collective(0, kBarrier, 100 * i, 100 * i + 51);
    program.collective(1, kBarrier, 100 * i + 50, 100 * i + 51);
  }
  program.ranks()[1].erase(program.ranks()[1].begin() + 1);
  const WaitStates states = program.analyse();
  EXPECT_THAT(lines(states),
              ElementsAre("0 for 1 root 1: wait_at_collective MPI_Barrier 100 ns, 2"));
  EXPECT_EQ(states.worlds[0].not_analysed[1], (WaitCoverage::Part{1, 51}));
}

TEST(WaitStates, ARootedCollectiveOnAnIntercommunicatorIsNotCovered) {
  Program program(2);
  program.collective(0, kBcast, 0, 50);
  program.collective(1, kBcast, 40, 50, 0);
  EXPECT_EQ(program.analyse().worlds[0].not_analysed[3], (WaitCoverage::Part{2, 60}));
}

TEST(WaitStates, ACollectiveOnAllRanksIsNotAnalysedIfARankIsNotWatched) {
  WaitAnalysis analysis(functions());
  analysis.add_process(WorldId{0}, Rank{0});
  analysis.add_member(ProcessIndex{0}, CommId{0});
  analysis.expect_ranks(WorldId{0}, 2);
  Program program(1);
  program.collective(0, kBarrier, 0, 50);
  analysis.add(ProcessIndex{0}, kBarrier, program.ranks()[0][0].event);
  EXPECT_EQ(analysis.finish().worlds[0].not_analysed[1], (WaitCoverage::Part{1, 50}));
}

TEST(WaitStates, OnACommunicatorOfItsOwnARankWaitsForNobody) {
  Program program(2);
  program.collective(0, kBarrier, 0, 50).event.comm = CommId{1};
  program.collective(1, kBarrier, 90, 95).event.comm = CommId{1};
  const WaitStates states = program.analyse();
  EXPECT_THAT(states.rows, IsEmpty());
  EXPECT_EQ(states.worlds[0].share(), 1);
}

TEST(WaitStates, MemoryDoesNotGrowWithTheTrace) {
  WaitAnalysis analysis(functions());
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    analysis.add_process(WorldId{0}, Rank{rank});
    analysis.add_member(ProcessIndex{rank}, CommId{0});
  }
  std::size_t largest = 0;
  for (std::uint32_t i = 0; i < 400000; ++i) {
    Program program(2);
    const Nanos at = 100 * Nanos{i};
    const auto add = [&](std::uint32_t rank) {
      auto& made = program.ranks()[rank].back();
      made.event.number = i;
      analysis.add(ProcessIndex{rank}, made.function, made.event);
    };
    program.send(1, 0, at + 40, at + 45), add(1);
    program.receive(0, 1, at, at + 50), add(0);
    if (i % 1000 == 0) {
      analysis.promise(ProcessIndex{0}, at + 50);
      analysis.promise(ProcessIndex{1}, at + 45);
      largest = std::max(largest, analysis.in_flight());
    }
  }
  EXPECT_LT(largest, 200000u);
  EXPECT_THAT(lines(analysis.finish()),
              ElementsAre("0 for 1 root 1: late_sender MPI_Recv 16000000 ns, 400000"));
}

TEST(WaitCauses, KeepsALimitedNumberOfWaitsAndCountsWhatItMayNotHaveFollowed) {
  constexpr std::size_t kMax = 100;
  WaitCauses causes(kMax);
  for (std::uint32_t rank = 0; rank < 2; ++rank) causes.add_process({WorldId{0}, Rank{rank}});
  for (Nanos i = 0; i < 10000; ++i) {
    causes.add({ProcessIndex{0}, {}}, kRecv, 10 * i + 7,
               {{10 * i, 10 * i + 7, {ProcessIndex{1}, {}}, WaitKind::kLateSender}});
    // A message that was sent at 0 is in flight all the time.
    if (i % 10 == 9) {
      causes.follow(0);
      ASSERT_LE(causes.kept(), 3 * kMax);
    }
  }
  causes.follow(std::numeric_limits<Nanos>::max());
  const auto rows = causes.rows(functions());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].time_ns, 70000);
  EXPECT_EQ(rows[0].calls, 10000u);
  EXPECT_GT(causes.unfollowed().at(WorldId{0}), 60000);
  EXPECT_LE(causes.unfollowed().at(WorldId{0}), 70000);
}

// ---- a model ----

/// Runs programs of computing, sending, receiving and barriers, and knows who waits when for whom.
/// A send returns at once. It waits only if its receive is posted in its one nanosecond.
class Model {
 public:
  Model(std::uint32_t ranks, std::uint32_t steps, std::mt19937& random) : program(ranks) {
    std::vector<Nanos> at(ranks);
    const auto pass = [&](std::uint32_t rank) {
      at[rank] += static_cast<Nanos>(1 + random() % 30);
    };
    for (std::uint32_t step = 0; step < steps; ++step) {
      if (random() % 8 == 0) {
        for (std::uint32_t r = 0; r < ranks; ++r) pass(r);
        const auto last = static_cast<std::uint32_t>(std::ranges::max_element(at) - at.begin());
        const Nanos arrived = at[last];
        for (std::uint32_t r = 0; r < ranks; ++r) {
          program.collective(r, kBarrier, at[r], arrived + 1);
          wait(r, at[r], arrived, last, arrived + 1);
          at[r] = arrived + 1;
        }
        continue;
      }
      const auto from = static_cast<std::uint32_t>(random() % ranks);
      const auto to = static_cast<std::uint32_t>((from + 1 + random() % (ranks - 1)) % ranks);
      pass(from);
      pass(to);
      const Nanos sent = at[from], began = at[to];
      program.send(from, to, sent, sent + 1);
      at[from] = sent + 1;
      at[to] = std::max(began, sent) + 1;
      program.receive(to, from, began, at[to]);
      wait(to, began, sent, from, at[to]);
      if (began == sent + 1) wait(from, sent, began, to, began);
    }
  }

  /// Time by (rank, cause, root), nanosecond by nanosecond.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Nanos> waits() const {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Nanos> sums;
    for (const auto& [rank, of] : waiting_) {
      for (const auto& [time, cause] : of) {
        ++sums[{rank, cause, root_at(cause, time)}];
      }
    }
    return sums;
  }

  Program program;

 private:
  void wait(std::uint32_t rank, Nanos from, Nanos until, std::uint32_t cause, Nanos returned) {
    for (Nanos at = from; at < until; ++at) waiting_[rank][at] = cause;
    for (Nanos at = until; from < until && at < returned; ++at) returning_[rank][at] = until - 1;
  }
  std::uint32_t root_at(std::uint32_t rank, Nanos time) const {
    if (returning_.contains(rank) && returning_.at(rank).contains(time)) {
      time = returning_.at(rank).at(time);
    }
    if (!waiting_.contains(rank) || !waiting_.at(rank).contains(time)) return rank;
    return root_at(waiting_.at(rank).at(time), time);
  }
  std::map<std::uint32_t, std::map<Nanos, std::uint32_t>> waiting_;
  // For each call that has waited and not returned: the last moment in which it waited.
  std::map<std::uint32_t, std::map<Nanos, Nanos>> returning_;
};

TEST(WaitStates, AgreeWithAModelThatFollowsEveryNanosecond) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Model model(2 + seed % 6, 300, random);
    for (const auto order : {Program::Order::kByTime, Program::Order::kByRank}) {
      const WaitStates states = model.program.analyse(order);
      std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Nanos> sums;
      for (const WaitState& row : states.rows) {
        sums[{raw(row.rank), raw(*row.cause_rank), raw(*row.root_rank)}] += row.time_ns;
      }
      ASSERT_EQ(states.worlds[0].share(), 1);
      ASSERT_EQ(sums, model.waits());
      ASSERT_LE(states.worlds[0].waiting_ns, states.worlds[0].blocking.time_ns);
    }
  }
}

}  // namespace
}  // namespace xylem::storage
