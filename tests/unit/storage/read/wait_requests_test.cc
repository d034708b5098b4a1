// Waits for the requests of sends and collectives, and probes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tests/unit/storage/read/wait_program.h"

namespace xylem::storage {
namespace {

using namespace wait_program;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(WaitRequests, AWaitForASendLastsUntilItsReceiveIsPosted) {
  Program program(2);
  program.isend(0, 1, 0, 7);
  program.isend(0, 1, 5, 8);
  program.wait_for(0, 8, 10, 100);
  program.wait_for(0, 7, 110, 120);  // Its receive was posted before.
  program.receive(1, 0, 60, 70);
  program.receive(1, 0, 90, 105);
  program.isend(0, 1, 200, 9);
  program.wait_for(0, 9, 210, 220);
  program.receive(1, 0, 300, 310);  // Buffered.
  for (const auto order : {Program::Order::kByTime, Program::Order::kByRank}) {
    const WaitStates states = program.analyse(order);
    EXPECT_THAT(lines(states), ElementsAre("0 for 1 root 1: late_receiver MPI_Wait 80 ns, 1"));
    EXPECT_EQ(states.worlds[0].share(), 1);
  }
}

TEST(WaitRequests, AWaitForSeveralRequestsIsChargedForItsReceivesFirst) {
  Program program(3);
  program.isend(0, 1, 0, 7);
  program.call(0, kWaitallCall, 10, 100);
  program.completed(0, 7);
  program.completion(0, 2);
  program.send(2, 0, 40, 41);
  program.receive(1, 0, 90, 105);
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("0 for 1 root 1: late_receiver MPI_Waitall 50 ns, 1",
                          "0 for 2 root 2: late_sender MPI_Waitall 30 ns, 1"));
}

TEST(WaitRequests, AWaitForSeveralRequestsMayBeForSendsOnly) {
  Program program(3);
  program.isend(0, 1, 0, 7);
  program.isend(0, 2, 1, 8);
  program.call(0, kWaitallCall, 10, 100);
  program.completed(0, 8);
  program.completed(0, 7);
  program.receive(1, 0, 90, 105);
  program.receive(2, 0, 30, 105);
  for (const auto order : {Program::Order::kByTime, Program::Order::kByRank}) {
    const WaitStates states = program.analyse(order);
    EXPECT_THAT(lines(states), ElementsAre("0 for 1 root 1: late_receiver MPI_Waitall 60 ns, 1",
                                           "0 for 2 root 2: late_receiver MPI_Waitall 20 ns, 1"));
    EXPECT_EQ(states.worlds[0].share(), 1);
  }
}

TEST(WaitRequests, AWaitForSeveralRequestsIsNotChargedForASendThatItDidNotCompleteOrThatIsSmall) {
  Program program(3);
  program.isend(0, 1, 0, 7);  // Completed by MPI_Wait, before.
  program.wait_for(0, 7, 2, 5);
  program.isend(0, 1, 6, 8);  // Its receive is posted after the call.
  program.isend(0, 2, 7, 9);  // Small.
  program.ranks()[0].back().event.bytes = 1023;
  program.isend(0, 2, 8, 10);  // Not completed by the call.
  program.call(0, kWaitallCall, 10, 100);
  program.completed(0, 8);
  program.completed(0, 9);
  program.receive(1, 0, 50, 51);
  program.receive(1, 0, 150, 151);
  program.receive(2, 0, 60, 61);
  program.receive(2, 0, 70, 71);
  EXPECT_THAT(lines(program.analyse()), IsEmpty());
}

TEST(WaitRequests, AWaitForACollectiveLastsUntilTheLastRankHasPostedIt) {
  Program program(3);
  program.nonblocking(0, kIbarrier, 0, 7);
  program.nonblocking(1, kIbarrier, 90, 7);
  program.nonblocking(2, kIbarrier, 30, 7);
  program.wait_for(0, 7, 20, 95);
  program.wait_for(1, 7, 92, 95);
  program.call(2, kWaitallCall, 60, 96);
  program.completed(2, 7);
  for (const auto order : {Program::Order::kByTime, Program::Order::kByRank}) {
    const WaitStates states = program.analyse(order);
    EXPECT_THAT(lines(states),
                ElementsAre("0 for 1 root 1: wait_at_collective MPI_Wait 70 ns, 1",
                            "2 for 1 root 1: wait_at_collective MPI_Waitall 30 ns, 1"));
    EXPECT_EQ(states.worlds[0].share(), 1);
  }
}

TEST(WaitRequests, WaitsForRootedCollectivesAreForTheRootOrOfTheRoot) {
  Program program(2);
  program.nonblocking(0, kIbcast, 0, 7, 1);
  program.nonblocking(1, kIbcast, 50, 7, 1);
  program.wait_for(0, 7, 10, 60);
  program.wait_for(1, 7, 52, 60);
  program.nonblocking(0, kIreduce, 100, 8, 1);
  program.nonblocking(1, kIreduce, 70, 8, 1);
  program.wait_for(0, 8, 102, 105);
  program.wait_for(1, 8, 75, 110);
  EXPECT_THAT(lines(program.analyse()),
              ElementsAre("0 for 1 root 1: late_root MPI_Wait 40 ns, 1",
                          "1 for 0 root 0: early_root MPI_Wait 25 ns, 1"));
}

TEST(WaitRequests, AProbeWaitsUntilTheMessageOfTheNextReceiveIsSent) {
  Program program(3);
  program.call(0, kIrecv, 0, 1).event.request = 5;  // Posted before, so it gets the first message.
  program.probe(0, 1, 10, 60);
  program.receive(0, 1, 62, 70);
  program.receive(0, 1, 72, 75, kWaitCall).event.request = 5;
  program.probe(0, 2, 80, 90);  // Its message is never received.
  program.send(1, 0, 20, 21);
  program.send(1, 0, 50, 51);
  // Numbers are given in the order of posts.
  std::swap(program.ranks()[0][2].event.number, program.ranks()[0][3].event.number);
  for (const auto order : {Program::Order::kByTime, Program::Order::kByRank}) {
    const WaitStates states = program.analyse(order);
    EXPECT_THAT(lines(states), ElementsAre("0 for 1 root 1: late_sender MPI_Probe 40 ns, 1"));
    EXPECT_EQ(states.worlds[0].not_analysed[1], (WaitCoverage::Part{1, 10}));
  }
}

TEST(WaitRequests, ACallIsNotChargedForWhatItDoesNotKnow) {
  Program program(2);
  program.isend(0, 1, 0, 7);
  program.wait_for(0, 99, 10, 100);  // Started before the trace.
  program.receive(1, 0, 90, 105);
  const WaitStates states = program.analyse();
  EXPECT_THAT(lines(states), IsEmpty());
  EXPECT_EQ(states.worlds[0].not_analysed[3], (WaitCoverage::Part{1, 90}));
}

TEST(WaitRequests, MemoryDoesNotGrowWithRequests) {
  WaitAnalysis analysis(functions());
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    analysis.add_process(WorldId{0}, Rank{rank});
    analysis.add_member(ProcessIndex{rank}, CommId{0});
  }
  std::size_t largest = 0;
  for (std::uint32_t i = 0; i < 200000; ++i) {
    Program program(2);
    const Nanos at = 100 * kMicrosecond * Nanos{i};
    const auto add = [&](std::uint32_t rank) {
      for (ProgramEvent& made : program.ranks()[rank]) {
        if ((made.event.flags & wire::kEventNumbered) != 0) made.event.number = i;
        analysis.add(ProcessIndex{rank}, made.function, made.event);
      }
    };
    program.isend(0, 1, at, i + 1);
    program.call(0, kWaitallCall, at + 10, at + 50);
    program.completed(0, i + 1);
    add(0);
    // Every tenth message is never received.
    if (i % 10 != 0) program.receive(1, 0, at + 30, at + 60), add(1);
    if (i % 1000 == 0) {
      for (std::uint32_t rank = 0; rank < 2; ++rank) analysis.promise(ProcessIndex{rank}, at);
      largest = std::max(largest, analysis.in_flight());
    }
  }
  EXPECT_LT(largest, 250000u);
  const WaitStates states = analysis.finish();
  ASSERT_EQ(states.rows.size(), 1u);
  EXPECT_EQ(states.rows[0].kind, WaitKind::kLateReceiver);
}

}  // namespace
}  // namespace xylem::storage
