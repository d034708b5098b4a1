// Programs of stored runs: what is read, and what is refused.

#include "predict/source/run_program.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "predict/replay/replay.h"
#include "predict/source/source.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/predict/programs.h"
#include "tests/unit/storage/stored_run.h"
#include "wire/definitions.h"

namespace xylem::predict {
namespace {

using storage::process_row;
using testing::goal;

constexpr FunctionId kInit{0}, kSend{1}, kReceive{2}, kFinalize{3}, kGatherv{4}, kAlltoallv{5},
    kReduceScatter{6};

class RunProgramTest : public storage::StoredRun {
 protected:
  static constexpr std::uint32_t kRanks = 2;

  RunProgramTest() {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) add_process(rank, rank, 1);
  }

  void add_process(std::uint32_t leaf, std::uint32_t rank, std::uint8_t world,
                   wire::Definitions definitions = {}) {
    wire::Registration registration;
    registration.host = "node" + std::to_string(leaf);
    registration.functions = {{kInit, "MPI_Init", 7},
                              {kSend, "MPI_Send", 1},
                              {kReceive, "MPI_Recv", 1},
                              {kFinalize, "MPI_Finalize", 7},
                              {kGatherv, "MPI_Gatherv", 2},
                              {kAlltoallv, "MPI_Alltoallv", 2},
                              {kReduceScatter, "MPI_Reduce_scatter", 2}};
    registration.processes = {process_row(1, rank, world, kRanks)};
    registration.processes[0].definitions = std::move(definitions);
    put(wire::Packet(
        {wire::kRegistrationStream, kLeafLane, waves_, waves_ + 1, IntervalSet::of(leaf)},
        wire::encode(registration)));
    ++waves_;
  }

  static wire::Event event(FunctionId function, Nanos begin, Nanos end, std::uint16_t flags = 0) {
    wire::Event made;
    made.function = function;
    made.begin_ns = begin;
    made.end_ns = end;
    made.comm = CommId{0};
    made.flags = flags;
    return made;
  }
  static wire::Event send(Nanos begin, std::uint64_t bytes, std::int32_t peer = 1) {
    wire::Event made = event(kSend, begin, begin + 10, wire::kEventSend | wire::kEventNumbered);
    made.peer = peer;
    made.tag = 7;
    made.bytes = bytes;
    return made;
  }
  static wire::Event receive(Nanos begin, Nanos end, std::uint64_t bytes, std::int32_t peer = 0) {
    wire::Event made = event(kReceive, begin, end, wire::kEventReceive | wire::kEventNumbered);
    made.peer = peer;
    made.tag = 7;
    made.bytes = made.room = bytes;
    return made;
  }
  static wire::Event collective(FunctionId function, Nanos begin, std::uint64_t bytes,
                                std::uint64_t room) {
    wire::Event made =
        event(function, begin, begin + 10, wire::kEventCollective | wire::kEventNumbered);
    made.bytes = bytes;
    made.room = room;
    return made;
  }
  static wire::Event block(const wire::Event& of, std::int32_t peer, std::uint64_t bytes,
                           std::uint64_t room) {
    wire::Event made = of;
    made.kind = wire::kKindCompletion;
    made.calls = 0;
    made.flags = wire::kEventBlock;
    made.peer = peer;
    made.bytes = bytes;
    made.room = room;
    return made;
  }

  /// All events of a leaf's process, and an account that says that there are no others.
  void put_all(std::uint32_t leaf, const std::vector<wire::Event>& events, std::uint64_t lost = 0) {
    put(storage::chunk_packet(leaf, 1, 0, events));
    wire::ProfileWindow window;
    wire::AccountRow account;
    account.leaf = LeafId{leaf};
    account.lane = Lane{1};
    for (const wire::Event& it : events) {
      ++account.events;
      account.event_calls += it.calls;
      if (it.kind != wire::kKindMpi) continue;
      window.rows.push_back(storage::profile_row(leaf, 1, 1, it.function));
    }
    account.captured = account.event_calls + lost;
    account.lost = lost;
    account.windowed = account.event_calls;
    account.events += lost;
    account.event_calls += lost;
    window.accounts = {account};
    put(storage::window_packet(1, IntervalSet::of(leaf), window));
  }

  void put_ping() {
    put_all(0, {event(kInit, 0, 100), send(200, 8), event(kFinalize, 300, 400)});
    put_all(1, {event(kInit, 0, 50), receive(150, 250, 8), event(kFinalize, 255, 400)});
  }

  Result<SourceProgram> read(const RunOptions& options = {}) {
    EXPECT_TRUE(store_->commit());
    auto run = storage::RunFile::open(path_);
    EXPECT_TRUE(run) << run.error().message;
    return read_run(**run, options);
  }

  void expect_refused(const std::string& why, const RunOptions& options = {}) {
    const auto made = read(options);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    EXPECT_EQ(made.error().message, path_ + ": " + why);
  }

  std::uint64_t waves_ = 0;
};

TEST_F(RunProgramTest, ReadsTheOperationsOfAllRanks) {
  put_ping();
  const auto made = read();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(print_goal(made->program),
            print_goal(goal("num_ranks 2\nrank 0 {\nl1: calc 100\nl2: send 8b to 1 tag 7\n"
                            "l3: calc 90\nl2 requires l1\nl3 requires l2\n}\n"
                            "rank 1 {\nl1: calc 100\nl2: recv 8b from 0 tag 7\nl3: calc 5\n"
                            "l2 requires l1\nl3 requires l2\n}\n")));
  EXPECT_EQ(made->assumptions,
            (std::vector<std::string>{"the run did not measure how long ranks waited for a "
                                      "processor, so this time counts as computing",
                                      "the time that capture added to calls is not known, so it "
                                      "counts as computing"}));
}

TEST_F(RunProgramTest, SubtractsTheMeasuredCostOfCapture) {
  wire::Definitions costs;
  costs.record_costs = {{wire::RecordShape::kCall, 20'400}, {wire::RecordShape::kMessage, 30'000}};
  add_process(0, 0, 1, costs);
  put_ping();
  const auto made = read();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->program.ranks[0].operations()[0].amount, 80u);
  EXPECT_EQ(made->program.ranks[0].operations()[2].amount, 60u);
  EXPECT_EQ(made->program.ranks[1].operations()[0].amount, 100u);
  EXPECT_EQ(made->assumptions[1],
            "the time that capture added to calls of 1 of 2 ranks is not known, so it counts as "
            "computing");
}

TEST_F(RunProgramTest, BlocksOfDifferentSizesAreThoseOfAllRanks) {
  const auto exchange = [](std::uint32_t rank) {
    const wire::Event call = collective(kAlltoallv, 150, 30, 30);
    // Rank 0 sends 20 to rank 1, and gets 5.
    const std::uint64_t sent = rank == 0 ? 20 : 5;
    return std::vector{call, block(call, rank == 0 ? 1 : 0, sent, 25 - sent)};
  };
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    wire::Event gather = collective(kGatherv, 100, rank == 0 ? 30 : 40, rank == 0 ? 70 : 0);
    gather.peer = 0;
    wire::Event scatter = collective(kReduceScatter, 120, 100, rank == 0 ? 64 : 36);
    scatter.number = 1;
    scatter.operation = 3;
    auto blocks = exchange(rank);
    blocks[0].number = 2;
    put_all(rank, {event(kInit, 0, 100), gather, scatter, blocks[0], blocks[1],
                   event(kFinalize, 160, 170)});
  }
  RunOptions options;
  options.collectives.choice.fix(Collective::kGatherv, Algorithm::kLinear);
  options.collectives.choice.fix(Collective::kAlltoallv, Algorithm::kPairwise);
  options.collectives.choice.fix(Collective::kReduceScatter, Algorithm::kPairwise);
  const auto made = read(options);
  ASSERT_TRUE(made) << made.error().message;
  std::vector<std::vector<std::uint64_t>> sent(kRanks), received(kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    for (const Operation& it : made->program.ranks[rank].operations()) {
      if (it.kind == Kind::kSend) sent[rank].push_back(it.amount);
      if (it.kind == Kind::kReceive) received[rank].push_back(it.amount);
    }
  }
  // Rank 1 sends its 40 bytes to the root. In the reduction, each sends the other's block.
  EXPECT_EQ(sent[0], (std::vector<std::uint64_t>{36, 20}));
  EXPECT_EQ(sent[1], (std::vector<std::uint64_t>{40, 64, 5}));
  EXPECT_EQ(received[0], sent[1]);
  EXPECT_EQ(received[1], sent[0]);
  EXPECT_TRUE(replay(made->program, LogGps{}));
}

TEST_F(RunProgramTest, RefusesATraceThatIsNotWhole) {
  put_all(0, {event(kInit, 0, 100), send(200, 8), event(kFinalize, 300, 400)});
  put_all(1, {event(kInit, 0, 50), event(kFinalize, 255, 400)}, 3);
  const auto made = read();
  ASSERT_FALSE(made);
  const std::string& message = made.error().message;
  EXPECT_TRUE(message.starts_with(path_ + ": the trace is not whole (rank 0: 1 of kind send, "))
      << message;
  EXPECT_NE(message.find("rank 1: 3 of kind call, "), std::string::npos) << message;
  EXPECT_NE(message.find("SELECT * FROM unmatched"), std::string::npos) << message;
}

TEST_F(RunProgramTest, AMessageWhoseReceiveHasNoNumberIsMatchedInOrder) {
  auto unnumbered = receive(150, 250, 8);
  unnumbered.flags = wire::kEventReceive | wire::kEventAnySource;
  put_all(0, {event(kInit, 0, 100), send(200, 8), event(kFinalize, 300, 400)});
  put_all(1, {event(kInit, 0, 50), unnumbered, event(kFinalize, 255, 400)});
  const auto made = read();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->assumptions.back(),
            "messages to receives with wildcards (1) are matched in the order in which these were "
            "posted");
  const auto replayed = replay(made->program, LogGps{});
  ASSERT_TRUE(replayed);
  EXPECT_EQ(replayed->messages, 1u);
  EXPECT_EQ(replayed->unreceived, 0u);
}

TEST_F(RunProgramTest, RefusesFunctionsByNameBeforeItBlamesTheTrace) {
  wire::Registration registration;
  registration.host = "node0";
  registration.functions = {{FunctionId{9}, "MPI_Bcast_init", 2}};
  registration.processes = {process_row(1, 0, 1, kRanks)};
  put(wire::Packet({wire::kRegistrationStream, kLeafLane, waves_, waves_ + 1, IntervalSet::of(0)},
                   wire::encode(registration)));
  put_all(0, {event(kInit, 0, 100), event(FunctionId{9}, 150, 160)});
  put_all(1, {event(kInit, 0, 100)}, 3);
  const auto made = read();
  ASSERT_FALSE(made);
  EXPECT_TRUE(made.error().message.starts_with(path_ + ": the run calls MPI_Bcast_init; runs with"))
      << made.error().message;
}

TEST_F(RunProgramTest, RefusesARunWithoutATrace) {
  expect_refused(
      "the run has no trace; record it with: xylem run --detail trace --store FILE -- COMMAND");
}

TEST_F(RunProgramTest, AsksForAWorldIfThereAreSeveral) {
  add_process(0 + 2, 0, 2);
  add_process(1 + 2, 1, 2);
  put_ping();
  expect_refused("the run has 2 worlds; choose one with --world, from 0 to 1");
  expect_refused("the run has no world 5; `xylem report` lists them", {.world = WorldId{5}});
  const auto made = read({.world = WorldId{0}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->program.ranks.size(), kRanks);
}

TEST_F(RunProgramTest, IsReadByItsContentWhateverItsName) {
  put_ping();
  ASSERT_TRUE(store_->commit());
  const auto made = read_program(path_);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(count_operations(made->program), 6u);
  const auto refused = read_program("/dev/null", {.world = WorldId{1}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "/dev/null: only the file of a run has worlds; leave out --world");
}

}  // namespace
}  // namespace xylem::predict
