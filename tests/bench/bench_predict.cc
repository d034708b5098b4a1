// How many messages a second the replay handles, and what a program takes in memory.
//
//   bench_predict [MESSAGES [PATTERN [RANKS]]]     default: 1000000 for each row, all patterns
//   bench_predict MESSAGES channels                only the model of channels
//
// Time is CPU time of this thread; each row is the best of three replays. The bar is 3 million
// messages a second, and for each pattern at most 30 % fewer with the slowest number of ranks than
// with the fastest. The floor is a pass over all operations that adds up their amounts. The last
// row is a binomial broadcast over a million ranks; its bar is 8 GB.

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "predict/replay/machine.h"
#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::compute;
using testing::finished;
using testing::receive;
using testing::send;

constexpr double kMessagesPerSecondBar = 3e6;
constexpr double kFlatBar = 0.7;
constexpr double kChannelsBar = 5e5;

double cpu() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Computes for a random time, sends to the right, receives from the left.
Program ring(std::uint32_t ranks, std::uint64_t messages) {
  std::mt19937 random(1);
  Program program;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<Operation> operations;
    for (std::uint64_t step = 0; step < messages / ranks; ++step) {
      operations.push_back(compute(1000 + random() % 10'000));
      operations.push_back(send(1024, (rank + 1) % ranks));
      operations.push_back(receive(1024, (rank + ranks - 1) % ranks));
    }
    program.ranks.push_back(testing::chain(operations));
  }
  return program;
}

/// On a square torus: posts four receives and four sends, waits for all, computes.
Program halo(std::uint32_t ranks, std::uint64_t messages) {
  std::uint32_t side = 1;
  while (side * side < ranks) ++side;
  CHECK(side * side == ranks);
  std::mt19937 random(1);
  Program program;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t x = rank % side, y = rank / side;
    const std::uint32_t neighbours[] = {y * side + (x + 1) % side, y * side + (x + side - 1) % side,
                                        (y + 1) % side * side + x,
                                        (y + side - 1) % side * side + x};
    RankBuilder builder;
    std::uint32_t last = builder.add(compute(0));
    for (std::uint64_t step = 0; step < messages / ranks / 4; ++step) {
      std::vector<std::uint32_t> started;
      for (std::uint32_t i = 0; i < 4; ++i) {
        started.push_back(builder.add(receive(8192, neighbours[i], i ^ 1)));
      }
      for (std::uint32_t i = 0; i < 4; ++i) {
        started.push_back(builder.add(send(8192, neighbours[i], i)));
      }
      builder.require(started[0], last);
      for (std::size_t i = 1; i < started.size(); ++i)
        builder.require_start(started[i], started[i - 1]);
      const std::uint32_t wait = builder.add(compute(10'000 + random() % 10'000));
      for (const std::uint32_t it : started) builder.require(wait, it);
      last = wait;
    }
    program.ranks.push_back(finished(std::move(builder)));
  }
  return program;
}

/// In step i, each rank exchanges a message with the ranks at distance i (MPI_Alltoall, pairwise).
Program all_to_all(std::uint32_t ranks, std::uint64_t messages) {
  std::mt19937 random(1);
  Program program;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    RankBuilder builder;
    std::uint32_t last = builder.add(compute(1000 + random() % 10'000));
    for (std::uint64_t step = 0; step < messages / ranks; ++step) {
      const auto distance = static_cast<std::uint32_t>(1 + step % (ranks - 1));
      const auto posted = builder.add(receive(64, (rank + ranks - distance) % ranks));
      const auto sent = builder.add(send(64, (rank + distance) % ranks));
      const auto wait = builder.add(compute(0));
      builder.require(posted, last);
      builder.require_start(sent, posted);
      builder.require(wait, sent);
      builder.require(wait, posted);
      last = wait;
    }
    program.ranks.push_back(finished(std::move(builder)));
  }
  return program;
}

/// Each rank posts all receives and sends of an all-to-all at once, and waits for all: so many
/// messages are under way that they do not fit into a cache. No bar.
Program all_at_once(std::uint32_t ranks, std::uint64_t messages) {
  Program program;
  const std::uint64_t rounds = std::max<std::uint64_t>(1, messages / ranks / (ranks - 1));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    RankBuilder builder;
    std::uint32_t last = builder.add(compute(1000 + rank));
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint32_t first = builder.size();
      for (std::uint32_t i = 1; i < ranks; ++i) {
        builder.require(builder.add(receive(64, (rank + i) % ranks)), last);
        builder.require(builder.add(send(64, (rank + i) % ranks)), last);
      }
      const std::uint32_t end = builder.size();
      last = builder.add(compute(1000));
      for (std::uint32_t i = first; i < end; ++i) builder.require(last, i);
    }
    program.ranks.push_back(finished(std::move(builder)));
  }
  return program;
}

/// `rounds` broadcasts from rank 0; `ranks` is a power of two.
Program broadcast(std::uint32_t ranks, std::uint64_t messages) {
  Program program;
  program.ranks.reserve(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t lowest = rank == 0 ? ranks : rank & -rank;
    std::vector<Operation> operations;
    for (std::uint64_t round = 0; round < std::max<std::uint64_t>(1, messages / ranks); ++round) {
      if (rank != 0) operations.push_back(receive(1, rank - lowest));
      for (std::uint32_t distance = lowest / 2; distance > 0; distance /= 2) {
        operations.push_back(send(1, rank + distance));
      }
    }
    program.ranks.push_back(testing::chain(operations));
  }
  return program;
}

double floor_seconds(const Program& program) {
  const double begin = cpu();
  std::uint64_t sum = 0;
  for (const RankProgram& rank : program.ranks) {
    for (const Operation& it : rank.operations()) sum += it.amount;
  }
  const double seconds = cpu() - begin;
  if (sum == 0) std::printf(" ");  // So that the sum is needed.
  return seconds;
}

double measure(const char* name, const Program& program) {
  const LogGps network = testing::network(2500, 1500, 1000, 6, 0, 65535);
  double best = 1e9;
  Prediction prediction;
  for (int run = 0; run < 3; ++run) {
    const double begin = cpu();
    auto replayed = replay(program, network);
    best = std::min(best, cpu() - begin);
    CHECK(replayed);
    prediction = *std::move(replayed);
  }
  const auto messages = static_cast<double>(prediction.messages);
  const auto operations = static_cast<double>(count_operations(program));
  std::printf(
      "%-11s %8zu ranks %9.0f messages %6.2f M/s (bar %.0f M/s) %5.1f ns an event  floor %4.2f ns  "
      "%5.1f B an operation\n",
      name, program.ranks.size(), messages, messages / best / 1e6, kMessagesPerSecondBar / 1e6,
      best / static_cast<double>(prediction.events) * 1e9,
      floor_seconds(program) / operations * 1e9,
      static_cast<double>(memory_of(program)) / operations);
  std::fflush(stdout);
  return messages / best;
}

using Make = Program(std::uint32_t ranks, std::uint64_t messages);

void measure_flatness(const char* name, Make* make, std::uint64_t messages) {
  std::vector<double> rates;
  for (const std::uint32_t ranks : {64u, 256u, 1024u}) {
    rates.push_back(measure(name, make(ranks, messages)));
  }
  const auto [slowest, fastest] = std::minmax_element(rates.begin(), rates.end());
  std::printf("%-11s slowest / fastest %.2f (bar %.1f)\n", name, *slowest / *fastest, kFlatBar);
}

/// A program on a topology, rank r on node r, with each channel as a queue.
void measure_channels(const char* name, const Program& program,
                      const Result<std::unique_ptr<Topology>>& topology) {
  CHECK(topology);
  Machine machine{testing::network(0, 1500, 1000, 6, 0, 65535),
                  {Femtoseconds{100'000'000}, Femtoseconds{6'000'000}, 10'000},
                  {},
                  topology->get(),
                  {}};
  for (std::uint32_t i = 0; i < program.ranks.size(); ++i) machine.node_of_rank.push_back(Node{i});
  double best = 1e9;
  MachinePrediction result;
  for (int run = 0; run < 3; ++run) {
    const double begin = cpu();
    auto replayed = replay_on(program, machine, Model::kChannels);
    best = std::min(best, cpu() - begin);
    CHECK(replayed);
    result = *std::move(replayed);
  }
  const auto messages = static_cast<double>(result.prediction.messages);
  double passed = 0;
  for (const ChannelUse& it : result.channels) passed += static_cast<double>(it.traffic.messages);
  std::printf(
      "%-22s %6zu ranks %9.0f messages %6.2f M/s (bar %.1f M/s with up to 6 channels a path)  %.1f "
      "channels a path, %.2f M channels/s (bar 3 M/s beyond)\n",
      name, program.ranks.size(), messages, messages / best / 1e6, kChannelsBar / 1e6,
      passed / messages, passed / best / 1e6);
  std::fflush(stdout);
}

void measure_all_channels(std::uint64_t messages) {
  for (const std::uint32_t arity : {4u, 8u, 10u}) {
    measure_channels("all to all, fat tree", all_to_all(arity * arity * arity, messages),
                     make_fat_tree(arity, 3));
  }
  measure_channels("halo, torus 32 x 32", halo(1024, messages), make_grid({32, 32}, true));
  measure_channels("all to all, 10x10x10", all_to_all(1000, messages),
                   make_grid({10, 10, 10}, true));
}

void measure_large() {
  measure("broadcast", broadcast(1u << 20, 0));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("largest memory of this process so far: %.2f GB (bar 8 GB)\n",
              static_cast<double>(usage.ru_maxrss) / 1e6);
}

}  // namespace
}  // namespace xylem::predict

int main(int argc, char** argv) {
  using namespace xylem::predict;
  const std::uint64_t messages = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const std::string only = argc > 2 ? argv[2] : "";
  const std::vector<std::pair<const char*, Make*>> patterns = {{"ring", ring},
                                                               {"halo", halo},
                                                               {"all to all", all_to_all},
                                                               {"all at once", all_at_once},
                                                               {"broadcast", broadcast}};
  for (const auto& [name, make] : patterns) {
    if (!only.empty() && only != name) continue;
    argc > 3 ? void(measure(name, make(static_cast<std::uint32_t>(std::atoi(argv[3])), messages)))
             : measure_flatness(name, make, messages);
  }
  if (only.empty() || only == "channels") measure_all_channels(messages);
  if (only.empty()) measure_large();
}
