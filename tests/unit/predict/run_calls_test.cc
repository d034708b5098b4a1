// What the events of a rank become: the operations, as GOAL.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "predict/replay/replay.h"
#include "predict/source/run_calls_internal.h"
#include "tests/unit/predict/programs.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::predict {
namespace {

using testing::goal;

/// A run that only says how many ranks it has, and the events of rank 0.
class RunCallsTest : public storage::StoredRun {
 protected:
  static constexpr std::uint32_t kRanks = 4;

  struct Record {
    std::string function;
    wire::Event event;
  };

  /// A call from `begin` to `end`.
  static Record call(const std::string& function, Nanos begin, Nanos end, std::uint16_t flags = 0) {
    wire::Event event;
    event.begin_ns = begin;
    event.end_ns = end;
    event.flags = flags;
    event.comm = wire::kCommWorld;
    return {function, event};
  }
  static Record message(const std::string& function, Nanos begin, Nanos end, std::uint16_t flags,
                        std::int32_t peer, std::uint64_t bytes, std::uint64_t request = 0,
                        std::int32_t tag = 7) {
    Record made = call(function, begin, end, flags);
    made.event.peer = peer;
    made.event.bytes = bytes;
    made.event.tag = tag;
    made.event.request = request;
    return made;
  }
  /// A further record of `of`.
  static Record part(Record of, std::uint16_t flags, std::uint64_t request = 0,
                     std::int32_t peer = wire::kNoPeer, std::uint64_t bytes = 0) {
    of.event.kind = wire::kKindCompletion;
    of.event.calls = 0;
    of.event.flags = flags;
    of.event.request = request;
    of.event.peer = peer;
    of.event.bytes = bytes;
    of.event.tag = 7;
    return of;
  }
  static Record on_thread(Record record, std::uint32_t thread) {
    record.event.thread = ThreadIndex{thread};
    return record;
  }
  static Record collective(const std::string& function, Nanos begin, Nanos end, std::uint64_t bytes,
                           std::uint32_t number = 0) {
    Record made = call(function, begin, end, wire::kEventCollective | wire::kEventNumbered);
    made.event.bytes = made.event.room = bytes;
    made.event.number = number;
    return made;
  }

  /// The program of rank 0, or why there is none.
  Result<RankProgram> program_of(const std::vector<Record>& records) {
    EXPECT_TRUE(store_->commit());
    auto run = storage::RunFile::open(path_);
    EXPECT_TRUE(run) << run.error().message;
    auto collectives = RunCollectives::read(**run, WorldId{0}, kRanks);
    EXPECT_TRUE(collectives) << collectives.error().message;
    TagNumbers tags;
    std::uint64_t operations_left = operations_;
    RunCalls calls(0, {kRanks, *collectives, tags, model_, processor_ratio_, operations_left},
                   costs_, waits_);
    std::map<std::string, FunctionId> ids;
    for (const Record& it : records) {
      wire::Event event = it.event;
      const auto next = FunctionId{static_cast<std::uint16_t>(ids.size())};
      event.function = ids.try_emplace(it.function, next).first->second;
      auto added = calls.add(event, use_of(it.function, class_of(it.function)), it.function);
      if (!added) return unexpected(added.error());
    }
    return calls.finish();
  }

  static std::string class_of(const std::string& function) {
    static const std::map<std::string, std::string> kClasses = {
        {"MPI_Barrier", "collective"},      {"MPI_Ibarrier", "collective"},
        {"MPI_Bcast", "collective"},        {"MPI_Neighbor_alltoall", "collective"},
        {"MPI_Put", "one_sided"},           {"MPI_Comm_rank", "communicator"},
        {"MPI_Comm_split", "communicator"}, {"MPI_File_write", "file"},
        {"MPI_Pack", "datatype"},           {"MPI_Init", "environment"},
        {"MPI_Finalize", "environment"},    {"MPI_Test", "completion"},
        {"MPI_Waitall", "completion"},      {"MPI_Iprobe", "probe"}};
    const auto found = kClasses.find(function);
    return found == kClasses.end() ? "point_to_point" : found->second;
  }

  void expect(const std::vector<Record>& records, const std::string& operations) {
    const auto program = program_of(records);
    ASSERT_TRUE(program) << program.error().message;
    const Program expected =
        goal("num_ranks 4\nrank 0 {\n" + operations + "}\nrank 1 { }\nrank 2 { }\nrank 3 { }\n");
    Program found = expected;
    found.ranks[0] = *program;
    EXPECT_EQ(print_goal(found), print_goal(expected));
  }

  void expect_refused(const std::vector<Record>& records, const std::string& why) {
    const auto program = program_of(records);
    ASSERT_FALSE(program);
    EXPECT_NE(program.error().message.find(why), std::string::npos) << program.error().message;
  }

  std::uint64_t operations_ = 1000, processor_ratio_ = kSameProcessor;
  CollectiveModel model_;
  RecordCosts costs_;
  ProcessorWaits waits_;
};

TEST_F(RunCallsTest, TheTimeBetweenCallsIsComputing) {
  expect({call("MPI_Init", 0, 1000), message("MPI_Send", 1500, 1600, wire::kEventSend, 1, 8),
          message("MPI_Recv", 1900, 4000, wire::kEventReceive, 2, 16),
          call("MPI_Finalize", 4070, 9000)},
         "l1: calc 500\nl2: send 8b to 1 tag 7\nl3: calc 300\nl4: recv 16b from 2 tag 7\n"
         "l5: calc 70\nl2 requires l1\nl3 requires l2\nl4 requires l3\nl5 requires l4\n");
}

TEST_F(RunCallsTest, LocalCallsAndFilesAreComputingToo) {
  expect(
      {call("MPI_Init", 0, 1000), call("MPI_Comm_rank", 1100, 1150), call("MPI_Pack", 1200, 1300),
       call("MPI_File_write", 1300, 1400), call("MPI_Finalize", 2000, 3000)},
      "l1: calc 1000\n");
}

TEST_F(RunCallsTest, ACallThatMakesACommunicatorTakesNoTime) {
  expect({call("MPI_Init", 0, 1000), call("MPI_Comm_split", 1100, 1900),
          call("MPI_Finalize", 2000, 3000)},
         "l1: calc 100\nl2: calc 100\nl2 requires l1\n");
}

TEST_F(RunCallsTest, AReceiveHasTheMessageThatItsWaitGot) {
  expect({call("MPI_Init", 0, 100),
          message("MPI_Irecv", 100, 110, wire::kEventPosts | wire::kEventAnySource, wire::kNoPeer,
                  0, 1),
          message("MPI_Isend", 110, 120, wire::kEventPosts | wire::kEventSend, 1, 9, 2),
          message("MPI_Wait", 170, 200, wire::kEventCompletes | wire::kEventReceive, 3, 16, 1),
          call("MPI_Wait", 200, 210, wire::kEventCompletes)},
         "l1: recv 16b from 3 tag 7\nl2: send 9b to 1 tag 7\nl3: calc 50\nl4: calc 0\n"
         "l2 irequires l1\nl3 irequires l2\nl4 requires l3\nl4 requires l1\n");
}

TEST_F(RunCallsTest, ACallForSeveralWaitsForThoseThatItCompleted) {
  const Record waitall = call("MPI_Waitall", 130, 200);
  expect({call("MPI_Init", 0, 100), message("MPI_Irecv", 100, 110, wire::kEventPosts, 3, 0, 1),
          message("MPI_Irecv", 110, 120, wire::kEventPosts, 2, 0, 2),
          message("MPI_Isend", 120, 130, wire::kEventPosts | wire::kEventSend, 1, 9, 3), waitall,
          part(waitall, wire::kEventCompletes, 3),
          part(waitall, wire::kEventCompletes | wire::kEventReceive, 1, 3, 16),
          call("MPI_Finalize", 260, 300)},
         // The receive of request 2 was cancelled, or never completed.
         "l1: recv 16b from 3 tag 7\nl2: calc 0\nl3: send 9b to 1 tag 7\nl4: calc 0\nl5: calc 60\n"
         "l2 irequires l1\nl3 irequires l2\nl4 requires l3\nl4 requires l1\nl5 requires l4\n");
}

TEST_F(RunCallsTest, ASendrecvIsBoth) {
  const Record sendrecv = message("MPI_Sendrecv", 100, 200, wire::kEventSend, 1, 9);
  const Record only_receives = message("MPI_Sendrecv", 200, 300, 0, wire::kNoPeer, 0);
  expect({call("MPI_Init", 0, 100), sendrecv, part(sendrecv, wire::kEventReceive, 0, 3, 16),
          only_receives, part(only_receives, wire::kEventReceive, 0, 2, 5),
          call("MPI_Finalize", 300, 310)},
         "l1: recv 16b from 3 tag 7\nl2: send 9b to 1 tag 7\nl3: calc 0\n"
         "l4: recv 5b from 2 tag 7\nl5: calc 0\n"
         "l2 irequires l1\nl3 requires l1\nl3 requires l2\nl4 requires l3\nl5 requires l4\n");
}

TEST_F(RunCallsTest, SendsKeepTheirMode) {
  const auto program =
      program_of({call("MPI_Init", 0, 100), message("MPI_Ssend", 100, 200, wire::kEventSend, 1, 9),
                  message("MPI_Bsend", 200, 300, wire::kEventSend, 1, 9),
                  message("MPI_Rsend", 300, 400, wire::kEventSend, 1, 9)});
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->operations().size(), 3u);
  EXPECT_TRUE(program->operations()[0].synchronous);
  EXPECT_FALSE(program->operations()[0].buffered);
  EXPECT_TRUE(program->operations()[1].buffered);
  EXPECT_FALSE(program->operations()[2].synchronous || program->operations()[2].buffered);
}

TEST_F(RunCallsTest, TagsOfOtherCommunicatorsHaveOtherNumbers) {
  Record other = message("MPI_Send", 200, 300, wire::kEventSend, 1, 9);
  other.event.comm = CommId{77};
  Record large = message("MPI_Send", 300, 400, wire::kEventSend, 1, 9, 0, 1 << 20);
  expect({call("MPI_Init", 0, 100), message("MPI_Send", 100, 200, wire::kEventSend, 1, 9), other,
          large},
         "l1: send 9b to 1 tag 7\nl2: send 9b to 1 tag 1048576\nl3: send 9b to 1 tag 1048577\n"
         "l2 requires l1\nl3 requires l2\n");
}

TEST_F(RunCallsTest, AFastLoopOfTestsIsWaiting) {
  Record first = call("MPI_Test", 150, 200, wire::kEventFindsNothing);
  Record later = call("MPI_Test", 100'000, 100'050, wire::kEventFindsNothing);
  later.event.calls = 1000;  // 50 ns a test, 50 ns a turn.
  expect({call("MPI_Init", 0, 100), message("MPI_Irecv", 100, 110, wire::kEventPosts, 3, 0, 1),
          first, later,
          part(message("MPI_Test", 140'000, 140'000, 0, 3, 0),
               wire::kEventCompletes | wire::kEventReceive | wire::kEventSucceeds, 1, 3, 16),
          call("MPI_Finalize", 140'030, 150'000)},
         "l1: recv 16b from 3 tag 7\nl2: calc 40\nl3: calc 0\nl4: calc 30\n"
         "l2 irequires l1\nl3 requires l2\nl3 requires l1\nl4 requires l3\n");
}

TEST_F(RunCallsTest, WhatIsComputedBetweenSlowTestsIsComputing) {
  const std::uint16_t nothing = wire::kEventFindsNothing;
  Record later = call("MPI_Test", 20'000, 20'100, nothing);
  later.event.calls = 3;
  expect(
      {call("MPI_Init", 0, 100), message("MPI_Irecv", 100, 110, wire::kEventPosts, 3, 0, 1),
       call("MPI_Test", 110, 210, nothing), call("MPI_Test", 5'210, 5'310, nothing),
       later,  // Two more tests of 100 ns in the gap of 14,690.
       message("MPI_Test", 30'100, 30'200, wire::kEventCompletes | wire::kEventReceive, 3, 16, 1)},
      "l1: recv 16b from 3 tag 7\nl2: calc 5000\nl3: calc 14490\nl4: calc 10000\nl5: calc 0\n"
      "l2 irequires l1\nl3 requires l2\nl4 requires l3\nl5 requires l4\nl5 requires l1\n");
}

TEST_F(RunCallsTest, ComputingAfterATestThatIsNotSampledIsComputing) {
  const std::uint16_t nothing = wire::kEventFindsNothing;
  expect(
      {call("MPI_Init", 0, 100), call("MPI_Iprobe", 100, 200, nothing),
       call("MPI_Iprobe", 300, 400, nothing),  // A turn of 100 ns.
       call("MPI_Test", 20'400, 20'500, nothing),
       message("MPI_Send", 110'500, 110'600, wire::kEventSend, 1, 9)},
      "l1: calc 20000\nl2: calc 90000\nl3: send 9b to 1 tag 7\nl2 requires l1\nl3 requires l2\n");
}

TEST_F(RunCallsTest, AThreadStartsAfterTheCollectiveThatEndedBefore) {
  model_.choice.fix(Collective::kBcast, Algorithm::kLinear);
  Record bcast = collective("MPI_Bcast", 100, 300, 1000);
  bcast.event.peer = 1;
  expect({call("MPI_Init", 0, 100), bcast,
          on_thread(message("MPI_Send", 350, 400, wire::kEventSend, 1, 9), 1),
          call("MPI_Finalize", 600, 700)},
         "l1: recv 1000b from 1 tag 1073741824\nl2: calc 50 cpu 1\nl3: send 9b to 1 tag 7 cpu 1\n"
         "l4: calc 300\nl5: calc 0 cpu 1\nl6: calc 0\n"
         "l2 requires l1\nl3 requires l2\nl4 requires l1\nl5 requires l3\nl6 requires l4\n"
         "l6 requires l5\n");
}

TEST_F(RunCallsTest, AnotherThreadMayCompleteWhatOneHasStarted) {
  model_.choice.fix(Collective::kBarrier, Algorithm::kLinear);
  Record ibarrier = collective("MPI_Ibarrier", 100, 110, 0, 5);
  ibarrier.event.flags |= wire::kEventPosts;
  ibarrier.event.request = 4;
  const auto program = program_of(
      {call("MPI_Init", 0, 100), ibarrier,
       on_thread(message("MPI_Wait", 120, 300, wire::kEventCompletes, wire::kNoPeer, 0, 4), 1),
       call("MPI_Finalize", 400, 500)});
  ASSERT_TRUE(program) << program.error().message;
  // The wait, on CPU 1, requires the end of the collective, which is the last operation before it.
  const auto operations = program->operations();
  const auto wait = std::ranges::find(operations, 1, &Operation::cpu);
  ASSERT_NE(wait, operations.end());
  ASSERT_NE(wait, operations.begin());
  const auto index = static_cast<std::uint32_t>(wait - operations.begin());
  bool requires_end = false;
  for (std::uint32_t i = 0; i < index; ++i) {
    const bool is_end = operations[i].kind == Kind::kCompute && operations[i].amount == 0;
    for (const Dependent it : program->dependents(i)) {
      requires_end |= is_end && it.operation() >= index && !it.on_start();
    }
  }
  EXPECT_TRUE(requires_end);
}

TEST_F(RunCallsTest, TimeInFilesIsThatOfTheRunWhateverTheProcessor) {
  processor_ratio_ = 2 * kSameProcessor;
  expect({call("MPI_Init", 0, 1000), call("MPI_File_write", 1300, 1700),
          call("MPI_Finalize", 2000, 3000)},
         "l1: calc 700\n");  // 600 / 2 + 400.
}

TEST_F(RunCallsTest, AFailedWaitallWaitsForWhatItCompleted) {
  Record waitall = call("MPI_Waitall", 130, 200);
  waitall.event.result = 18;
  expect({call("MPI_Init", 0, 100), message("MPI_Irecv", 100, 110, wire::kEventPosts, 3, 0, 1),
          message("MPI_Irecv", 110, 120, wire::kEventPosts, 2, 0, 2), waitall,
          part(waitall, wire::kEventCompletes | wire::kEventReceive, 1, 3, 16),
          call("MPI_Finalize", 200, 300)},
         "l1: recv 16b from 3 tag 7\nl2: calc 0\nl3: calc 10\nl4: calc 0\n"
         "l2 irequires l1\nl3 irequires l2\nl4 requires l3\nl4 requires l1\n");
}

TEST_F(RunCallsTest, SizesOfCollectivesAreThoseOfTheCall) {
  EXPECT_TRUE(store_->commit());
  auto run = storage::RunFile::open(path_);
  ASSERT_TRUE(run);
  auto collectives = RunCollectives::read(**run, WorldId{0}, kRanks);
  ASSERT_TRUE(collectives);
  const auto bytes_of = [&](const char* name, std::uint64_t bytes, std::uint64_t room) {
    Record made = collective(name, 0, 1, bytes);
    made.event.room = room;
    made.event.peer = 2;
    const auto found = collectives->find(*collective_function(name), 1, made.event, {});
    EXPECT_TRUE(found) << name;
    EXPECT_EQ(found->call.root, 2u);
    EXPECT_EQ(found->place, 1u);
    return found ? found->call.bytes : 0;
  };
  EXPECT_EQ(bytes_of("MPI_Bcast", 0, 64), 64u) << "not the root";
  EXPECT_EQ(bytes_of("MPI_Bcast", 64, 0), 64u) << "the root";
  EXPECT_EQ(bytes_of("MPI_Alltoall", 400, 400), 100u) << "blocks for 4 ranks";
  EXPECT_EQ(bytes_of("MPI_Ialltoall_c", 400, 400), 100u);
  EXPECT_EQ(bytes_of("MPI_Scatter", 0, 25), 25u);
  EXPECT_EQ(bytes_of("MPI_Reduce_scatter_block", 100, 25), 25u);
  EXPECT_EQ(bytes_of("MPI_Gather", 25, 0), 25u);
  EXPECT_EQ(bytes_of("MPI_Allgather", 25, 100), 25u);
  EXPECT_EQ(bytes_of("MPI_Reduce", 80, 0), 80u);
  EXPECT_EQ(bytes_of("MPI_Exscan", 80, 80), 80u);
}

TEST_F(RunCallsTest, WhatCaptureAddsIsNotComputing) {
  costs_ = {.counted = 2,
            .call = 20,
            .message = 30,
            .start = 40,
            .completion = 50,
            .collective = 60,
            .part = 5};
  Record local = call("MPI_Comm_rank", 300, 300);
  local.event.calls = 11;
  expect({call("MPI_Init", 0, 100),                               // 20
          message("MPI_Send", 200, 200, wire::kEventSend, 1, 9),  // 30
          local,                                                  // 20 + 10 x 2
          message("MPI_Isend", 400, 400, wire::kEventPosts | wire::kEventSend, 1, 9, 1),  // 40
          message("MPI_Wait", 500, 500, wire::kEventCompletes, wire::kNoPeer, 0, 1),      // 50
          call("MPI_Finalize", 545, 600)},
         "l1: calc 80\nl2: send 9b to 1 tag 7\nl3: calc 130\nl4: send 9b to 1 tag 7\nl5: calc 60\n"
         "l6: calc 0\nl2 requires l1\nl3 requires l2\nl4 requires l3\nl5 irequires l4\n"
         "l6 requires l5\nl6 requires l4\n");
}

TEST_F(RunCallsTest, TimeInWhichTheRankWaitedForAProcessorIsNotComputing) {
  waits_.add(1000, 0);
  waits_.add(2000, 500'000);
  waits_.add(3000, 250'000);
  expect(
      {call("MPI_Init", 0, 100), message("MPI_Send", 1500, 1600, wire::kEventSend, 1, 9),
       message("MPI_Send", 2400, 2400, wire::kEventSend, 1, 9), call("MPI_Finalize", 4400, 5000)},
      // 900 + 500 / 2; 400 / 2 + 400 x 3/4; 600 x 3/4 + 1400 x 3/4.
      "l1: calc 1150\nl2: send 9b to 1 tag 7\nl3: calc 500\nl4: send 9b to 1 tag 7\nl5: calc 1500\n"
      "l2 requires l1\nl3 requires l2\nl4 requires l3\nl5 requires l4\n");
}

TEST_F(RunCallsTest, ThreadsHaveCpusAndEndBeforeFinalize) {
  expect({call("MPI_Init", 0, 100),
          on_thread(message("MPI_Send", 150, 200, wire::kEventSend, 1, 9), 1),
          message("MPI_Recv", 300, 900, wire::kEventReceive, 3, 16),
          on_thread(message("MPI_Send", 400, 500, wire::kEventSend, 2, 9), 1),
          on_thread(message("MPI_Send", 600, 700, wire::kEventSend, 3, 9), 2),
          call("MPI_Finalize", 1000, 2000)},
         "l1: calc 50 cpu 1\nl2: send 9b to 1 tag 7 cpu 1\nl3: calc 200\n"
         "l4: recv 16b from 3 tag 7\nl5: calc 200 cpu 1\nl6: send 9b to 2 tag 7 cpu 1\n"
         // The third thread began while the first one was in MPI_Recv, 300 ns after its begin.
         "l7: calc 300 cpu 2\nl8: send 9b to 3 tag 7 cpu 2\nl9: calc 100\n"
         "l10: calc 0 cpu 1\nl11: calc 0 cpu 2\nl12: calc 0\n"
         "l2 requires l1\nl4 requires l3\nl5 requires l2\nl6 requires l5\nl7 requires l3\n"
         "l8 requires l7\nl9 requires l4\nl10 requires l6\nl11 requires l8\n"
         "l12 requires l9\nl12 requires l10\nl12 requires l11\n");
}

TEST_F(RunCallsTest, ACollectiveIsTheMessagesOfItsAlgorithm) {
  model_.choice.fix(Collective::kBcast, Algorithm::kLinear);
  Record bcast = collective("MPI_Bcast", 200, 300, 1000);
  bcast.event.peer = 0;
  bcast.event.room = 0;
  expect({call("MPI_Init", 0, 100), bcast, call("MPI_Finalize", 350, 400)},
         "l1: calc 100\nl2: send 1000b to 1 tag 1073741824\nl3: send 1000b to 2 tag 1073741824\n"
         "l4: send 1000b to 3 tag 1073741824\nl5: calc 0\nl6: calc 50\n"
         "l2 requires l1\nl3 irequires l2\nl4 irequires l3\nl5 requires l2\nl5 requires l3\n"
         "l5 requires l4\nl6 requires l5\n");
}

TEST_F(RunCallsTest, ACollectiveThatDoesNotBlockRunsBeside) {
  model_.choice.fix(Collective::kBarrier, Algorithm::kDissemination);
  Record ibarrier = collective("MPI_Ibarrier", 100, 110, 0, 5);
  ibarrier.event.flags |= wire::kEventPosts;
  ibarrier.event.request = 4;
  expect({call("MPI_Init", 0, 100), ibarrier, message("MPI_Send", 210, 220, wire::kEventSend, 1, 9),
          message("MPI_Wait", 220, 300, wire::kEventCompletes, wire::kNoPeer, 0, 4),
          call("MPI_Finalize", 300, 310)},
         // Two rounds, with a tag of its own: communicator 0 is the world's.
         "l1: recv 0b from 3 tag 1073741825\nl2: send 0b to 1 tag 1073741825\nl3: calc 0\n"
         "l4: recv 0b from 2 tag 1073741825\nl5: send 0b to 2 tag 1073741825\nl6: calc 0\n"
         "l7: calc 0\nl8: calc 100\nl9: send 9b to 1 tag 7\nl10: calc 0\n"
         "l2 irequires l1\nl3 requires l2\nl3 requires l1\nl4 requires l3\nl5 irequires l4\n"
         "l6 requires l5\nl6 requires l4\nl7 requires l6\nl9 requires l8\nl10 requires l9\n"
         "l10 requires l7\n");
}

TEST_F(RunCallsTest, RefusesWhatCannotBeReplayed) {
  const Record init = call("MPI_Init", 0, 100);
  expect_refused({init, message("MPI_Put", 110, 120, 0, 1, 8)},
                 "rank 0 calls MPI_Put: a program cannot express one-sided transfers");
  expect_refused({init, collective("MPI_Neighbor_alltoall", 110, 120, 8)},
                 "rank 0 calls MPI_Neighbor_alltoall: ");
  Record unknown = collective("MPI_Barrier", 110, 120, 0);
  unknown.event.comm = CommId{77};
  expect_refused({init, unknown, call("MPI_Finalize", 130, 140)},
                 "rank 0 calls MPI_Barrier: the members of its communicator are not known");
  Record sampled = message("MPI_Send", 110, 120, wire::kEventSend, 1, 8);
  sampled.event.calls = 10;
  expect_refused({init, sampled},
                 "rank 0 calls MPI_Send: the function was sampled; record the run again with");
  expect_refused({init, part(message("MPI_Send", 110, 110, 0, 1, 8), wire::kEventSend, 0, 1, 8)},
                 "rank 0 calls MPI_Send: the function was sampled; record the run again with");
  expect_refused({init, on_thread(call("MPI_Recv", 110, 120), 256)},
                 "rank 0 calls MPI from more than 256 threads");
}

TEST_F(RunCallsTest, RefusesWhatADamagedFileMaySay) {
  const Record init = call("MPI_Init", 0, 100);
  for (const std::int32_t peer : {-1, 4, 1 << 30}) {
    expect_refused({init, message("MPI_Send", 110, 120, wire::kEventSend, peer, 8)},
                   "rank 0 calls MPI_Send: the other rank of its message is not in its world");
  }
  operations_ = 3;
  const Record send = message("MPI_Send", 110, 120, wire::kEventSend, 1, 8);
  expect_refused({init, send, send, send}, "the program has more than 1000000000 operations");
  operations_ = 5;
  expect_refused({init, collective("MPI_Barrier", 110, 120, 0), call("MPI_Finalize", 130, 140)},
                 "the program has more than 1000000000 operations");
}

TEST_F(RunCallsTest, TimesOfADamagedFileDoNotOverflow) {
  constexpr Nanos kMin = std::numeric_limits<Nanos>::min(),
                  kMax = std::numeric_limits<Nanos>::max();
  Record poll = call("MPI_Test", kMax, kMin, wire::kEventFindsNothing);
  poll.event.calls = 0xffffffff;
  costs_.counted = kMax;
  const auto program = program_of({call("MPI_Init", kMin, kMin),
                                   message("MPI_Send", kMin, kMax, wire::kEventSend, 1, 8), poll,
                                   poll, message("MPI_Send", kMax, kMin, wire::kEventSend, 1, 8)});
  EXPECT_TRUE(program);
}

TEST_F(RunCallsTest, AnyEventsAreRefusedOrBecomeAProgram) {
  const std::vector<std::string> functions = {
      "MPI_Send",    "MPI_Isend", "MPI_Irecv",     "MPI_Recv",      "MPI_Sendrecv",
      "MPI_Waitall", "MPI_Wait",  "MPI_Test",      "MPI_Iprobe",    "MPI_Barrier",
      "MPI_Bcast",   "MPI_Pack",  "MPI_Comm_rank", "MPI_Comm_split"};
  std::mt19937_64 random(20261127);
  int programs = 0;
  for (int trial = 0; trial < 150; ++trial) {
    std::vector<Record> records = {call("MPI_Init", 0, 100)};
    for (int i = 0; i < 12; ++i) {
      Record made =
          call(functions[random() % functions.size()], static_cast<Nanos>(random() % 5000),
               static_cast<Nanos>(random() % 9000), static_cast<std::uint16_t>(random()));
      made.event.peer = static_cast<std::int32_t>(
                            random() % (8 * kRanks) == 0 ? random() % 9 : random() % kRanks) -
                        (random() % 30 == 0 ? 1 : 0);
      made.event.bytes = random() % 100;
      made.event.tag = static_cast<std::int32_t>(random());
      made.event.request = random() % 4;
      made.event.number = static_cast<std::uint32_t>(random() % 3);
      made.event.thread = ThreadIndex{static_cast<std::uint32_t>(random() % 3)};
      made.event.kind = i > 0 && random() % 4 == 0 ? wire::kKindCompletion : wire::kKindMpi;
      if (made.event.kind == wire::kKindCompletion || random() % 4 == 0) {
        made.event.begin_ns = records.back().event.begin_ns;
        made.event.end_ns = records.back().event.end_ns;
      }
      if (made.event.kind == wire::kKindCompletion) made.function = records.back().function;
      records.push_back(made);
    }
    const auto program = program_of(records);
    if (!program) continue;
    ++programs;
    Program all;
    all.ranks.resize(kRanks);
    all.ranks[0] = *program;
    for (const Operation& it : program->operations()) {
      ASSERT_LT(it.peer, kRanks);
    }
    static_cast<void>(replay(all, LogGps{}));  // It may wait for ever, but it comes to an end.
  }
  EXPECT_GT(programs, 5);
}

TEST_F(RunCallsTest, AFailedCallDoesNothing) {
  Record failed = message("MPI_Send", 200, 300, wire::kEventSend, 1, 9);
  failed.event.result = 6;
  expect({call("MPI_Init", 0, 100), failed, call("MPI_Finalize", 400, 500)},
         "l1: calc 100\nl2: calc 100\nl2 requires l1\n");
}

}  // namespace
}  // namespace xylem::predict
