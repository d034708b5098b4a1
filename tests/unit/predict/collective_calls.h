#pragma once

// Calls for tests: every collective with every algorithm, as each rank of a communicator makes it.

#include <cstdint>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "base/check.h"
#include "predict/collectives/schedule.h"
#include "predict/trace/collective_messages.h"
#include "predict/trace/program.h"

namespace xylem::predict::testing {

/// A call of all ranks of a communicator.
struct Case {
  Collective collective = Collective::kBarrier;
  Algorithm algorithm = Algorithm::kLinear;
  std::uint32_t ranks = 1;
  std::uint32_t root = 0;
  std::uint64_t bytes = 0;
  std::uint64_t element_bytes = 1;

  std::string name() const {
    return std::string(name_of(collective)) + " " + std::string(name_of(algorithm)) + ", " +
           std::to_string(ranks) + " ranks, root " + std::to_string(root) + ", " +
           std::to_string(bytes) + " bytes of " + std::to_string(element_bytes);
  }

  /// Where blocks differ in size: that of rank `of`, or from `of` to `to`. Some are empty.
  std::uint64_t size(std::uint32_t of, std::uint32_t to = 0) const {
    return bytes == 0 ? 0 : (of * 7919u + to * 104729u) % (bytes + 1);
  }

  Schedule schedule(std::uint32_t rank) const {
    CollectiveCall call{collective, root, bytes, element_bytes, {}, {}};
    std::vector<std::uint64_t> sent(ranks), received(ranks);
    const bool to_all = collective == Collective::kAlltoallv;
    for (std::uint32_t i = 0; i < ranks; ++i) {
      sent[i] = to_all ? size(rank, i) : size(i);
      received[i] = size(i, rank);
    }
    if (has_sizes(collective)) call.sizes = sent;
    if (to_all) call.received_sizes = received;
    return schedule_of(call, algorithm, ranks, rank);
  }

  Program program(std::uint64_t reduce_fs_per_byte = 0) const {
    Program made;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      Sequence sequence;
      append_schedule(schedule(rank), {.number = 5, .ranks = ranks, .members = {}},
                      reduce_fs_per_byte, sequence);
      made.ranks.push_back(std::move(sequence).finish());
    }
    return made;
  }
};

constexpr std::uint32_t kMaxTestedRanks = 33;

template <typename Do>
void for_each_collective(Do&& act) {
  for (std::size_t i = 0; i < kCollectives; ++i) act(static_cast<Collective>(i));
}

/// Calls `act` for each collective and algorithm and for 1 to 33 ranks.
template <typename Do>
void for_each_case(std::uint64_t bytes, std::uint64_t element_bytes, Do&& act) {
  for_each_collective([&](Collective collective) {
    for (const Algorithm algorithm : algorithms_for(collective)) {
      for (std::uint32_t ranks = 1; ranks <= kMaxTestedRanks; ++ranks) {
        act(Case{collective, algorithm, ranks, 0, bytes, element_bytes});
      }
    }
  });
}

inline bool has_root(Collective collective) {
  return collective == Collective::kBcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kGatherv ||
         collective == Collective::kScatter || collective == Collective::kScatterv;
}

}  // namespace xylem::predict::testing
