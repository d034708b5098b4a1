// Accesses to files in timelines: Table 1 and Figure 1 of SimHPC, and ranks that share cores.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "predict/synthesis/io.h"
#include "tests/unit/predict/storage_words.h"
#include "tests/unit/predict/timelines.h"

namespace xylem::predict {
namespace {

using testing::compute;
using testing::file_operation;
using testing::machine_with;
using testing::message_ns;
using testing::plain_storage;
using testing::read_of;
using testing::receive;
using testing::send;
using testing::Timelines;

/// D of a read of `bytes` on plain_storage() with nobody else, with its connection.
constexpr Ticks read_ns(std::uint64_t bytes) {
  return 2 * message_ns(kControlBytes) + 300 + 5000 + 2 * bytes + message_ns(bytes);
}

struct WithFiles {
  Prediction prediction;
  Timelines timelines;
};

WithFiles replayed(const Program& program, const Machine& machine) {
  WithFiles made;
  auto result = replay_on(program, machine, Model::kLogGps, {&made.timelines, {}});
  EXPECT_TRUE(result) << result.error().message;
  if (result) made.prediction = std::move(result->prediction);
  return made;
}

std::string from_to(Ticks begin, Ticks end) {
  return std::to_string(begin) + "-" + std::to_string(end);
}

RankProgram reads_and_computes(std::uint64_t before, std::uint64_t bytes, std::uint64_t after) {
  Sequence sequence;
  sequence.run(compute(before));
  sequence.run(file_operation(sequence, read_of(0, bytes)));
  sequence.run(compute(after));
  return std::move(sequence).finish();
}

// File read/write: T_run += t - ts, CLK += t - ts; the delay D counts as T_IO while it blocks.
TEST(Table1, AFileAccessBlocksForItsDelay) {
  const auto made = replayed({{reads_and_computes(70, 1000, 30)}}, machine_with(plain_storage()));
  const Ticks d = read_ns(1000);
  EXPECT_EQ(made.timelines.of(0), "run 0-70 compute, io " + from_to(70, 70 + d) + " file, run " +
                                      from_to(70 + d, 100 + d) + " compute");
  EXPECT_EQ(made.prediction.io_ns[0], d);
  EXPECT_EQ(made.prediction.run_ns[0], 100u);
}

// Note 2: the remaining delay counts if the process is blocked later; a hidden one does not.
TEST(Table1, OnlyTheRestOfAnAsynchronousAccessIsIo) {
  const Ticks d = read_ns(1000);
  for (const Ticks computing : {Ticks{400}, d - 1, d, d + 1, 2 * d}) {
    Sequence sequence;
    const std::array started{sequence.start(file_operation(sequence, read_of(0, 1000)))};
    sequence.run(compute(computing));
    sequence.wait_for(started);
    Program program;
    program.ranks.push_back(std::move(sequence).finish());
    const auto made = replayed(program, machine_with(plain_storage()));
    EXPECT_EQ(made.prediction.run_ns[0], computing);
    EXPECT_EQ(made.prediction.io_ns[0], computing < d ? d - computing : 0) << computing;
  }
}

// H16. Figure 1: p0 and p1 share a core of the host, and each of three processes owns a core of the
// target. p0 sends to p1 and reads a file, and p1 sends to p2. A message of 8 bytes occupies its
// sender for o = 100 and its receiver for o + 7 G = 107, and travels for o + L = 1100.
TEST(Figure1, WithItsFileAccess) {
  Program program;
  Sequence p0;
  p0.run(compute(80));
  p0.run(send(8, 1));
  p0.run(compute(30));
  p0.run(file_operation(p0, read_of(0, 1000)));
  p0.run(compute(20));
  program.ranks.push_back(std::move(p0).finish());
  program.ranks.push_back(
      testing::chain({compute(60), receive(8, 0), compute(50), send(8, 2), compute(10)}));
  program.ranks.push_back(testing::chain({compute(70), receive(8, 1), compute(40)}));
  Machine machine = machine_with(plain_storage());
  const auto own = replayed(program, machine);
  const Ticks d = read_ns(1000);
  EXPECT_EQ(own.timelines.of(0), "run 0-80 compute, run 80-180 send 1, run 180-210 compute, io " +
                                     from_to(210, 210 + d) + " file, run " +
                                     from_to(210 + d, 230 + d) + " compute");
  EXPECT_EQ(own.timelines.of(1),
            "run 0-60 compute, io 60-1180 receive 0, run 1180-1287 receive 0, "
            "run 1287-1337 compute, run 1337-1437 send 2, run 1437-1447 compute");
  EXPECT_EQ(own.timelines.of(2),
            "run 0-70 compute, io 70-2437 receive 1, run 2437-2544 receive 1, "
            "run 2544-2584 compute");
  EXPECT_EQ(own.prediction.ready_ns, (std::vector<std::uint64_t>{0, 0, 0}));

  machine.node_of_rank = {Node{0}, Node{0}, Node{1}};
  machine.memory = {testing::nanoseconds(20), testing::nanoseconds(1)};
  machine.cores = {1, 50};  // As on the host.
  const auto shared = replayed(program, machine);
  EXPECT_EQ(shared.prediction.run_ns, own.prediction.run_ns);
  EXPECT_GT(shared.prediction.ready_ns[0], 0u);
  EXPECT_EQ(shared.prediction.io_ns[0], own.prediction.io_ns[0]) << "D is the same";
}

// A rank that waits for a file gives its core up.
TEST(Table1, ARankInAnAccessNeedsNoCore) {
  const Ticks d = read_ns(1000);
  Program program{{reads_and_computes(10, 1000, 30), testing::chain({compute(2 * d)})}};
  Machine machine = machine_with(plain_storage());
  machine.node_of_rank = {Node{0}, Node{0}};
  machine.cores = {1, 4 * d};
  const auto made = replayed(program, machine);
  EXPECT_EQ(made.timelines.of(1),
            "ready 0-10 compute, run " + from_to(10, 10 + 2 * d) + " compute");
  EXPECT_EQ(made.timelines.of(0), "run 0-10 compute, io " + from_to(10, 10 + d) + " file, ready " +
                                      from_to(10 + d, 10 + 2 * d) + " compute, run " +
                                      from_to(10 + 2 * d, 40 + 2 * d) + " compute");
}

TEST(FileTimelines, AddUpWhateverIsShared) {
  for (const bool is_shared : {false, true}) {
    for (const std::uint32_t cores : {1u, 2u, 4u}) {
      const auto program = io_program({.ranks = 8,
                                       .file_bytes = 300'000,
                                       .block_bytes = 10'000,
                                       .rounds = 2,
                                       .compute_ns = 70'000,
                                       .is_shared = is_shared});
      ASSERT_TRUE(program);
      StorageOptions storage = testing::cached_storage(40);
      storage.read_ahead = ReadAheadPolicy::kSequential;
      storage.read_ahead_bytes = 8 * testing::kPage;
      Machine machine = machine_with(storage);
      for (std::uint32_t i = 0; i < 8; ++i) machine.node_of_rank.push_back(Node{i / 4});
      machine.cores = {cores, 10'000};
      const auto made = replayed(*program, machine);
      const auto ends = made.timelines.expect_gapless(8);
      for (std::uint32_t rank = 0; rank < 8; ++rank) {
        const Prediction& of = made.prediction;
        EXPECT_EQ(ends[rank], of.end_ns[rank]);
        EXPECT_EQ(made.timelines.sum(rank, TimelineState::kRun), of.run_ns[rank]);
        EXPECT_EQ(made.timelines.sum(rank, TimelineState::kIo), of.io_ns[rank]);
        EXPECT_EQ(made.timelines.sum(rank, TimelineState::kReady), of.ready_ns[rank]);
        EXPECT_EQ(of.run_ns[rank], 140'000u);
        EXPECT_TRUE(cores < 4 || of.ready_ns[rank] == 0);
      }
    }
  }
}

}  // namespace
}  // namespace xylem::predict
