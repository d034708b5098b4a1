// Moves data as schedules say, and looks whether each rank ends with what MPI promises. The data of
// a block are the set of ranks that have contributed to it. Nothing here knows how an algorithm
// works, except into how many parts it cuts a vector.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "predict/collectives/schedule.h"
#include "tests/unit/predict/collective_calls.h"

namespace xylem::predict {
namespace {

using testing::Case;
using testing::for_each_case;
using testing::for_each_collective;
using testing::has_root;

/// Bit r is set if rank r has contributed.
using Ranks = std::uint64_t;

Ranks only(std::uint64_t rank) { return Ranks{1} << rank; }
Ranks below(std::uint64_t rank) { return only(rank) - 1; }

/// Into how many parts a vector is cut. 0 if the call has no vector.
std::uint32_t parts_of(const Case& of) {
  switch (of.collective) {
    case Collective::kBcast:
    case Collective::kReduce:
    case Collective::kAllreduce:
      break;
    default:
      return 0;
  }
  switch (of.algorithm) {
    case Algorithm::kScatterAllgather:
    case Algorithm::kScatterRingAllgather:
    case Algorithm::kRing:
      return of.ranks;
    case Algorithm::kRabenseifner:
      return std::bit_floor(of.ranks);
    default:
      return 1;
  }
}

/// The bytes of a block, found by giving out elements one by one.
std::uint64_t bytes_of_part(const Case& of, std::uint64_t block) {
  const std::uint32_t parts = parts_of(of);
  if (of.collective == Collective::kBcast) {
    const std::uint64_t part = (of.bytes + parts - 1) / parts;
    std::uint64_t left = of.bytes;
    for (std::uint64_t i = 0; i < block; ++i) left -= std::min(left, part);
    return std::min(left, part);
  }
  std::vector<std::uint64_t> bytes(parts);
  const std::uint64_t elements = of.bytes / of.element_bytes;
  for (std::uint64_t i = 0; i < parts; ++i) {
    bytes[i] = (elements / parts + (i < elements % parts ? 1 : 0)) * of.element_bytes;
  }
  bytes.back() += of.bytes % of.element_bytes;
  return bytes[block];
}

std::uint64_t bytes_of_block(const Case& of, std::uint64_t block) {
  const auto number = static_cast<std::uint32_t>(block);
  switch (of.collective) {
    case Collective::kBcast:
    case Collective::kReduce:
    case Collective::kAllreduce:
      return bytes_of_part(of, block);
    case Collective::kAllgatherv:
    case Collective::kReduceScatter:
      return of.size(number);
    case Collective::kGatherv:
    case Collective::kScatterv:
      return of.size((of.root + number) % of.ranks);
    case Collective::kAlltoallv:
      return of.size(number / of.ranks, number % of.ranks);
    default:
      return of.bytes;
  }
}

/// A call in progress: the data of each rank, and the messages under way.
class Machine {
 public:
  explicit Machine(const Case& of) : case_(of) {
    for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
      schedules_.push_back(of.schedule(rank));
      data_.push_back(initial(rank));
      known_.push_back(only(rank));
    }
  }

  void run() {
    std::vector<std::size_t> step(case_.ranks);
    std::vector<bool> has_sent(case_.ranks);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t rank = 0; rank < case_.ranks; ++rank) {
        if (step[rank] == schedules_[rank].size()) continue;
        const Step& now = schedules_[rank][step[rank]];
        if (!has_sent[rank]) send(rank, now);
        moved |= !has_sent[rank];
        has_sent[rank] = true;
        if (!has_arrived(rank, now)) continue;
        receive(rank, now);
        has_sent[rank] = false;
        ++step[rank];
        moved = true;
      }
    }
    for (std::uint32_t rank = 0; rank < case_.ranks; ++rank) {
      EXPECT_EQ(step[rank], schedules_[rank].size()) << "rank " << rank << " waits forever";
      for (const auto& [peer, messages] : under_way_) EXPECT_TRUE(messages.empty());
    }
  }

  void expect_result() const {
    for (std::uint32_t rank = 0; rank < case_.ranks; ++rank) {
      SCOPED_TRACE("rank " + std::to_string(rank));
      if (case_.collective == Collective::kBarrier) {
        EXPECT_EQ(known_[rank], below(case_.ranks));
      }
      for (const auto& [block, ranks] : promised(rank)) {
        const auto found = data_[rank].find(block);
        ASSERT_NE(found, data_[rank].end()) << "block " << block << " is missing";
        EXPECT_EQ(found->second, ranks) << "block " << block;
      }
    }
  }

 private:
  using Data = std::map<std::uint64_t, Ranks>;
  struct Sent {
    Message message;
    Data data;
    Ranks known;
  };

  std::uint32_t from_root(std::uint32_t rank) const {
    return (rank + case_.ranks - case_.root) % case_.ranks;
  }

  Data initial(std::uint32_t rank) const {
    Data data;
    const bool is_root = rank == case_.root;
    switch (case_.collective) {
      case Collective::kBcast:
        for (std::uint32_t i = 0; is_root && i < parts_of(case_); ++i) data[i] = only(rank);
        break;
      case Collective::kReduce:
      case Collective::kAllreduce:
        for (std::uint32_t i = 0; i < parts_of(case_); ++i) data[i] = only(rank);
        break;
      case Collective::kAllgather:
      case Collective::kAllgatherv:
        data[rank] = only(rank);
        break;
      case Collective::kGather:
      case Collective::kGatherv:
        data[from_root(rank)] = only(rank);
        break;
      case Collective::kScatter:
      case Collective::kScatterv:
        for (std::uint32_t i = 0; is_root && i < case_.ranks; ++i) data[i] = only(i);
        break;
      case Collective::kReduceScatter:
      case Collective::kReduceScatterBlock:
        for (std::uint32_t i = 0; i < case_.ranks; ++i) data[i] = only(rank);
        break;
      case Collective::kAlltoall:
      case Collective::kAlltoallv:
        for (std::uint32_t i = 0; i < case_.ranks; ++i) {
          data[std::uint64_t{rank} * case_.ranks + i] = only(rank);
        }
        break;
      case Collective::kScan:
        data[kGroupSum] = data[kPrefix] = only(rank);
        break;
      case Collective::kExscan:
        data[kGroupSum] = only(rank);
        break;
      case Collective::kBarrier:
        break;
    }
    return data;
  }

  Data promised(std::uint32_t rank) const {
    Data data;
    const Ranks all = below(case_.ranks);
    const bool is_root = rank == case_.root;
    switch (case_.collective) {
      case Collective::kBcast:
        for (std::uint32_t i = 0; i < parts_of(case_); ++i) data[i] = only(case_.root);
        break;
      case Collective::kReduce:
        for (std::uint32_t i = 0; is_root && i < parts_of(case_); ++i) data[i] = all;
        break;
      case Collective::kAllreduce:
        for (std::uint32_t i = 0; i < parts_of(case_); ++i) data[i] = all;
        break;
      case Collective::kAllgather:
      case Collective::kAllgatherv:
        for (std::uint32_t i = 0; i < case_.ranks; ++i) data[i] = only(i);
        break;
      case Collective::kGather:
      case Collective::kGatherv:
        for (std::uint32_t i = 0; is_root && i < case_.ranks; ++i) data[from_root(i)] = only(i);
        break;
      case Collective::kScatter:
      case Collective::kScatterv:
        data[from_root(rank)] = only(from_root(rank));
        break;
      case Collective::kReduceScatter:
      case Collective::kReduceScatterBlock:
        data[rank] = all;
        break;
      case Collective::kAlltoall:
      case Collective::kAlltoallv:
        for (std::uint32_t i = 0; i < case_.ranks; ++i) {
          data[std::uint64_t{i} * case_.ranks + rank] = only(i);
        }
        break;
      case Collective::kScan:
        data[kPrefix] = below(rank + 1);
        break;
      case Collective::kExscan:
        if (rank > 0) data[kPrefix] = below(rank);
        break;
      case Collective::kBarrier:
        break;
    }
    return data;
  }

  void send(std::uint32_t rank, const Step& step) {
    for (const Message& it : step.sends) {
      Sent sent{it, {}, known_[rank]};
      std::uint64_t bytes = 0;
      for (const Blocks& range : it.blocks) {
        for (std::uint64_t block = range.first; block < range.first + range.count; ++block) {
          const auto found = data_[rank].find(block);
          ASSERT_NE(found, data_[rank].end())
              << "rank " << rank << " sends block " << block << ", which it does not have";
          EXPECT_TRUE(sent.data.insert(*found).second) << "block " << block << " is sent twice";
          bytes += bytes_of_block(case_, block);
        }
      }
      EXPECT_EQ(it.bytes, bytes);
      EXPECT_NE(it.peer, rank);
      under_way_[{rank, it.peer}].push_back(std::move(sent));
    }
  }

  bool has_arrived(std::uint32_t rank, const Step& step) {
    std::map<std::uint32_t, std::size_t> needed;
    for (const Message& it : step.receives) ++needed[it.peer];
    return std::ranges::all_of(needed, [&](const auto& it) {
      return under_way_[{it.first, rank}].size() >= it.second;
    });
  }

  void receive(std::uint32_t rank, const Step& step) {
    for (const Message& it : step.receives) {
      auto& queue = under_way_[{it.peer, rank}];
      const Sent sent = std::move(queue.front());
      queue.pop_front();
      EXPECT_EQ(sent.message.blocks, it.blocks);
      EXPECT_EQ(sent.message.bytes, it.bytes);
      known_[rank] |= sent.known;
      for (const auto& [block, ranks] : sent.data) {
        if (it.effect == Effect::kStore) {
          data_[rank][block] = ranks;
          continue;
        }
        combine(rank, block, ranks);
        if (it.effect != Effect::kCombine) combine(rank, kPrefix, ranks);
        if (it.effect == Effect::kWholePrefix) {
          EXPECT_EQ(ranks, below(rank)) << "not all of the prefix of rank " << rank;
        }
      }
    }
  }

  void combine(std::uint32_t rank, std::uint64_t block, Ranks ranks) {
    Ranks& own = data_[rank][block];
    EXPECT_EQ(own & ranks, 0u) << "rank " << rank << " reduces a contribution twice";
    own |= ranks;
  }

  const Case case_;
  std::vector<Schedule> schedules_;
  std::vector<Data> data_;
  std::vector<Ranks> known_;  ///< Whose calls have begun, as far as the rank can know.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Sent>> under_way_;
};

void expect_right(const Case& of) {
  SCOPED_TRACE(of.name());
  Machine machine(of);
  machine.run();
  machine.expect_result();
}

TEST(Schedules, GiveEachRankWhatMpiPromises) {
  for_each_case(1000, 8, [](const Case& it) {
    if (!::testing::Test::HasFailure()) expect_right(it);
  });
}

TEST(Schedules, AreRightForEveryRoot) {
  for_each_case(1000, 4, [](Case it) {
    if (!has_root(it.collective) || it.ranks > 20) return;
    for (it.root = 1; it.root < it.ranks && !::testing::Test::HasFailure(); ++it.root) {
      expect_right(it);
    }
  });
}

TEST(Schedules, AreRightForSizesThatAreZeroSmallOrCannotBeDivided) {
  for (const auto& [bytes, element] : {std::pair{0u, 1u},
                                       {0u, 8u},
                                       {1u, 1u},
                                       {7u, 8u},
                                       {8u, 8u},
                                       {13u, 4u},
                                       {2049u, 1u},
                                       {12289u, 1u},
                                       {81920u, 16u},
                                       {524289u, 8u}}) {
    for_each_case(bytes, element, [](const Case& it) {
      if (it.ranks > 17 || ::testing::Test::HasFailure()) return;
      expect_right(it);
    });
  }
}

TEST(Schedules, OfOneRankAreEmpty) {
  for_each_case(100, 1, [](const Case& it) {
    if (it.ranks > 1) return;
    EXPECT_TRUE(it.schedule(0).empty()) << it.name();
  });
}

TEST(Schedules, LimitBytesToWhatANumberCanSay) {
  const CollectiveCall call{Collective::kGather, 0, ~0ull, 1, {}, {}};
  const Schedule schedule = schedule_of(call, Algorithm::kBinomial, 4, 0);
  ASSERT_EQ(schedule.size(), 2u);
  EXPECT_EQ(schedule[1].receives[0].bytes, ~0ull);  // Two blocks.
}

TEST(Algorithms, HaveNamesOfTheirOwn) {
  std::map<std::string_view, int> names;
  for (std::size_t i = 0; i < kAlgorithms; ++i) ++names[name_of(static_cast<Algorithm>(i))];
  EXPECT_EQ(names.size(), kAlgorithms);
  names.clear();
  for_each_collective([&](Collective it) { ++names[name_of(it)]; });
  EXPECT_EQ(names.size(), kCollectives);
  EXPECT_EQ(name_of(Collective::kReduceScatterBlock), "reduce_scatter_block");
  EXPECT_EQ(name_of(Algorithm::kScatterRingAllgather), "scatter_ring_allgather");
}

}  // namespace
}  // namespace xylem::predict
