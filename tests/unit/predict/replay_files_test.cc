// Programs that access files: replayed with computing, with messages, and on several nodes.

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "predict/trace/ti_trace.h"
#include "tests/unit/predict/storage_words.h"

namespace xylem::predict {
namespace {

using testing::blocking_program;
using testing::cached_storage;
using testing::kPage;
using testing::machine_with;
using testing::message_ns;
using testing::nanoseconds;
using testing::page_after_page;
using testing::plain_storage;
using testing::predicted;
using testing::read_of;

/// What a read of `bytes` takes on plain_storage() with nobody else, with its connection.
constexpr Ticks first_read_ns(std::uint64_t bytes) {
  return 2 * message_ns(kControlBytes) + 300 + 5000 + 2 * bytes + message_ns(bytes);
}

/// A rank reads `bytes`, in the background or not, and computes.
Program read_and_compute(std::uint64_t bytes, std::uint64_t compute_ns, bool is_asynchronous) {
  Sequence sequence;
  const Operation read = testing::file_operation(sequence, read_of(0, bytes));
  if (is_asynchronous) {
    const std::uint32_t started = sequence.start(read);
    sequence.run(testing::compute(compute_ns));
    sequence.wait_for(std::array{started});
  } else {
    sequence.run(read);
    sequence.run(testing::compute(compute_ns));
  }
  Program program;
  program.ranks.push_back(std::move(sequence).finish());
  return program;
}

TEST(FileAccesses, ABlockingAccessBlocksItsRank) {
  const Machine machine = machine_with(plain_storage());
  const Prediction of = predicted(read_and_compute(1000, 50'000, false), machine).prediction;
  EXPECT_EQ(of.end_ns[0], first_read_ns(1000) + 50'000);
  EXPECT_EQ(of.run_ns[0], 50'000u);
}

TEST(FileAccesses, AnAsynchronousAccessCostsNothingIfComputingIsLonger) {
  const Machine machine = machine_with(plain_storage());
  const Ticks read = first_read_ns(1000);
  EXPECT_EQ(predicted(read_and_compute(1000, read + 1, true), machine).prediction.end_ns[0],
            read + 1);
  EXPECT_EQ(predicted(read_and_compute(1000, 400, true), machine).prediction.end_ns[0], read);
}

TEST(FileAccesses, TheWholeRunIsThatOfItsAccesses) {
  StorageOptions storage = cached_storage(16);
  storage.read_ahead = ReadAheadPolicy::kSequential;
  storage.read_ahead_bytes = 8 * kPage;
  const auto accesses = page_after_page(50);
  const auto reports = testing::reports_of(storage, accesses);
  Ticks sum = 0;
  for (const AccessReport& it : reports) sum += it.total;
  EXPECT_EQ(predicted(blocking_program({accesses}), machine_with(storage)).prediction.makespan_ns,
            sum);
}

TEST(FileAccesses, ReadersOfOneStorageNodeQueue) {
  for (const std::uint32_t ranks : {1u, 2u, 7u}) {
    const std::vector<std::vector<TimedAccess>> all(ranks, {read_of(0, 1000)});
    const Prediction of =
        predicted(blocking_program(all), machine_with(plain_storage())).prediction;
    // Requests come at the same time: the NIC of the storage node takes one after the other, g +
    // 127 G for each, and that of the connection before. Each is served in 7300 ns, so it is the
    // queue that counts: rank k is the k-th.
    const Ticks service = 300 + 5000 + 2000;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(of.end_ns[rank],
                2 * message_ns(kControlBytes) + (rank + 1) * service + message_ns(1000))
          << rank;
    }
  }
}

TEST(FileAccesses, HitsInTheBufferShareTheNicOfTheStorageNode) {
  StorageOptions storage = plain_storage();
  storage.request = nanoseconds(0);
  storage.disk_read = nanoseconds(0);
  storage.disk_per_byte = nanoseconds(0);
  const std::uint64_t bytes = 100'000;
  const std::vector<std::vector<TimedAccess>> all(4, {read_of(0, bytes)});
  const Prediction of = predicted(blocking_program(all), machine_with(storage)).prediction;
  const Ticks nic = 50 + (bytes - 1);
  EXPECT_EQ(of.end_ns[3] - of.end_ns[0], 3 * nic);
}

TEST(FileAccesses, RanksOfANodeShareItsPageCache) {
  Machine machine = machine_with(cached_storage(64));
  machine.node_of_rank = {Node{0}, Node{0}};
  // Rank 1 computes until rank 0 has read.
  Program program = blocking_program({page_after_page(8)});
  Sequence second;
  second.run(testing::compute(10'000'000));
  for (const TimedAccess& it : page_after_page(8)) {
    second.run(testing::file_operation(second, it));
  }
  program.ranks.push_back(std::move(second).finish());
  const MachinePrediction shared = predicted(program, machine);
  EXPECT_EQ(shared.storage.hit_pages, 8u);
  EXPECT_EQ(shared.prediction.end_ns[1], 10'000'000u);
  machine.node_of_rank = {Node{0}, Node{1}};
  EXPECT_EQ(predicted(program, machine).storage.hit_pages, 0u);
}

TEST(FileAccesses, APageThatAnotherRankReadsIsRequestedOnce) {
  Machine machine = machine_with(cached_storage(64));
  machine.node_of_rank = {Node{0}, Node{0}};
  const MachinePrediction of =
      predicted(blocking_program({page_after_page(8), page_after_page(8)}), machine);
  EXPECT_EQ(of.storage.requests.requests, 8u);
  EXPECT_EQ(of.storage.awaited_pages, 8u);
  EXPECT_EQ(of.prediction.end_ns[0], of.prediction.end_ns[1]);
}

TEST(FileAccesses, CompeteWithMessagesForChannels) {
  // Node 0 sends to node 1, while rank 2 on node 2 reads from the storage node, 3. In a mesh, the
  // answer to node 2 and nothing else uses channels from 3.
  const auto topology = make_grid({4}, false);
  ASSERT_TRUE(topology);
  StorageOptions storage = plain_storage();
  storage.disk_per_byte = nanoseconds(0);
  Machine machine = machine_with(storage);
  machine.fabric = {nanoseconds(70), nanoseconds(3), 10'000};
  machine.topology = topology->get();
  machine.storage_nodes = {Node{3}};
  machine.node_of_rank = {Node{0}, Node{1}, Node{2}};
  Program program;
  program.ranks.push_back(testing::chain({testing::receive(200'000, 1)}));
  program.ranks.push_back(testing::chain({testing::send(200'000, 0)}));
  program.ranks.push_back(blocking_program({{read_of(0, 100'000)}}).ranks[0]);
  const auto alone = predicted(program, machine, Model::kChannels);
  EXPECT_EQ(alone.storage.requests.requests, 1u);
  // Rank 0 reads instead: its answer passes the same way as the message of rank 1.
  program.ranks[2] = RankProgram();
  Sequence both;
  const std::uint32_t posted = both.start(testing::receive(200'000, 1));
  const std::uint32_t reads = both.start(testing::file_operation(both, read_of(0, 100'000)));
  both.wait_for(std::array{posted, reads});
  program.ranks[0] = std::move(both).finish();
  const auto together = predicted(program, machine, Model::kChannels);
  EXPECT_GT(together.prediction.makespan_ns, alone.prediction.makespan_ns + 100'000);
  // The analytic model sees the load of storage, too.
  EXPECT_GT(predicted(program, machine, Model::kAnalytic).prediction.makespan_ns, 0u);
}

TEST(FileAccesses, GiveTheSameResultEachTime) {
  StorageOptions storage = cached_storage(32);
  storage.nodes = 3;
  storage.stripe_bytes = 4 * kPage;
  storage.buffer_bytes = 16 * kPage;
  storage.buffer_read_ahead_bytes = 4 * kPage;
  storage.write = WritePolicy::kBack;
  storage.read_ahead = ReadAheadPolicy::kSequential;
  storage.read_ahead_bytes = 8 * kPage;
  std::vector<std::vector<TimedAccess>> all;
  std::uint64_t x = 1;
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    all.emplace_back();
    for (int i = 0; i < 200; ++i) {
      x = x * 6364136223846793005 + 1442695040888963407;
      const auto file = static_cast<std::uint32_t>(x >> 60) % 3;
      all.back().push_back(
          {rank, {(x >> 33) % 300'000, file, (x >> 50) % 3 == 0}, (x >> 40) % 9000});
    }
  }
  Machine machine = machine_with(storage);
  machine.node_of_rank = {Node{0}, Node{0}, Node{1}, Node{1}, Node{2}, Node{2}};
  const Program program = blocking_program(all);
  const MachinePrediction once = predicted(program, machine);
  EXPECT_EQ(once, predicted(program, machine));
  EXPECT_EQ(once.storage.reads + once.storage.writes, 1200u);
}

TEST(FileAccesses, EachKeyChangesThePredictionAsExpected) {
  // Two ranks on two nodes read a file of 64 pages twice.
  auto accesses = page_after_page(64);
  const auto again = page_after_page(64);
  accesses.insert(accesses.end(), again.begin(), again.end());
  const Program reads = blocking_program({accesses, accesses});
  auto written = accesses;
  for (TimedAccess& it : written) it.access.is_write = true;
  const Program writes = blocking_program({written, written});
  StorageOptions base = cached_storage(16);
  base.stripe_bytes = 4 * kPage;
  base.buffer_bytes = 16 * kPage;
  base.read_ahead = ReadAheadPolicy::kSequential;
  base.read_ahead_bytes = 4 * kPage;
  const auto time = [&](const Program& program, auto change) {
    StorageOptions storage = base;
    change(storage);
    return predicted(program, machine_with(storage)).prediction.makespan_ns;
  };
  const auto unchanged = [](StorageOptions&) {};
  const std::uint64_t read = time(reads, unchanged), write = time(writes, unchanged);
  const auto faster = [&](const char* key, auto change) {
    EXPECT_LT(time(reads, change), read) << key;
  };
  const auto slower = [&](const char* key, auto change) {
    EXPECT_GT(time(reads, change), read) << key;
  };
  faster("page_cache_bytes", [](auto& it) { it.page_cache_bytes = 64 * kPage; });
  faster("buffer_bytes", [](auto& it) { it.buffer_bytes = 64 * kPage; });
  slower("read_ahead", [](auto& it) { it.read_ahead = ReadAheadPolicy::kNone; });
  slower("connection", [](auto& it) { it.connection = ConnectionPolicy::kPerRequest; });
  slower("copy_per_byte", [](auto& it) { it.copy_per_byte = nanoseconds(1); });
  slower("request", [](auto& it) { it.request = nanoseconds(1000); });
  slower("disk_read", [](auto& it) { it.disk_read = nanoseconds(6000); });
  slower("disk_per_byte", [](auto& it) { it.disk_per_byte = nanoseconds(3); });
  slower("stripe_bytes",
         [](auto& it) { it.stripe_bytes = kPage; });  // More requests, one storage node.
  // More storage nodes serve windows of several stripes in parallel.
  faster("nodes", [](auto& it) {
    it.nodes = 4;
    it.stripe_bytes = kPage;
  });
  // Reading ahead in storage nodes replaces latencies of the disk, if nobody else reads ahead.
  EXPECT_LT(time(reads,
                 [](auto& it) {
                   it.read_ahead = ReadAheadPolicy::kNone;
                   it.buffer_read_ahead_bytes = 4 * kPage;
                 }),
            time(reads, [](auto& it) { it.read_ahead = ReadAheadPolicy::kNone; }));
  EXPECT_GT(time(writes, [](auto& it) { it.disk_write = nanoseconds(9000); }), write);
  EXPECT_LT(time(writes, [](auto& it) { it.write = WritePolicy::kBack; }), write);
  EXPECT_LT(time(writes,
                 [](auto& it) {
                   it.write = WritePolicy::kBack;
                   it.page_cache_bytes = 64 * kPage;
                 }),
            time(writes, [](auto& it) { it.write = WritePolicy::kBack; }));
}

TEST(FileAccesses, NeedStorage) {
  const Program program = blocking_program({{}, {read_of(0, 10)}});
  Machine machine = machine_with({});
  const auto result = replay_on(program, machine, Model::kLogGps);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "rank 1, operation 1: read of 10 bytes of file 0: the target has no storage; add the "
            "section [storage] to it");
}

TEST(FileAccesses, CannotBeWrittenAsText) {
  const auto text = print_ti(blocking_program({{read_of(0, 10, 7)}}));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message,
            "rank 0, operation 1: read of 10 bytes of file 7: a time-independent trace cannot "
            "express it; predict the program without writing it");
}

TEST(FileAccesses, ChangeNothingForOtherPrograms) {
  // The storage's times would need shorter ticks, but the program does not use them.
  StorageOptions storage = plain_storage();
  storage.disk_per_byte = Femtoseconds{1};
  Program program;
  program.ranks.push_back(testing::chain({testing::send(10, 1)}));
  program.ranks.push_back(testing::chain({testing::receive(10, 0)}));
  EXPECT_EQ(predicted(program, machine_with(storage)), predicted(program, machine_with({})));
}

}  // namespace
}  // namespace xylem::predict
