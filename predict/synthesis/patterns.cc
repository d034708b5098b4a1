#include "predict/synthesis/patterns.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/saturating.h"
#include "predict/collectives/schedule.h"
#include "predict/trace/collective_messages.h"
#include "predict/trace/sequence.h"

namespace xylem::predict {
namespace {

/// Operations of an exchange: a receive, a send, a wait.
constexpr std::uint64_t kExchange = 3;
constexpr std::uint32_t kDirections = 6;

/// Makes a program of `round`s. A rank has at most `per_round` operations in a round, besides
/// computing, and all ranks together `of_all`. A rank that is alone has no messages.
Result<Program> rounds_of(const Pattern& pattern, std::uint64_t per_round, std::uint64_t of_all,
                          const std::function<void(std::uint32_t rank, Sequence&)>& round) {
  if (pattern.ranks == 0 || pattern.ranks > kMaxRanks) {
    return unexpected(Code::kInvalidArgument, std::to_string(pattern.ranks) +
                                                  " ranks are not possible; take 1 to " +
                                                  std::to_string(kMaxRanks));
  }
  const bool is_alone = pattern.ranks == 1;
  if (is_alone) per_round = of_all = 0;
  const std::uint64_t computing = pattern.compute_ns > 0 ? 1 : 0;
  const std::uint64_t operations =
      saturating_multiply(saturating_add(of_all, computing * pattern.ranks), pattern.rounds);
  const std::uint64_t longest = saturating_multiply(per_round + computing, pattern.rounds);
  if (operations > kMaxSynthesised || longest > kMaxOperations) {
    return unexpected(Code::kInvalidArgument, "the program would have more than " +
                                                  std::to_string(kMaxSynthesised) +
                                                  " operations; take fewer ranks or rounds");
  }
  Program program;
  program.ranks.reserve(pattern.ranks);
  for (std::uint32_t rank = 0; rank < pattern.ranks; ++rank) {
    Sequence sequence;
    // Rounds without operations are not counted above, and there may be very many.
    const std::uint64_t rounds = per_round + computing > 0 ? pattern.rounds : 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      if (computing > 0) {
        sequence.run({.amount = pattern.compute_ns, .kind = Kind::kCompute});
      }
      if (!is_alone) round(rank, sequence);
    }
    program.ranks.push_back(std::move(sequence).finish());
  }
  return program;
}

Result<Program> rounds_of_calls(const Pattern& pattern, Collective collective, Algorithm algorithm,
                                std::uint64_t per_round, std::uint64_t of_all) {
  CollectiveCall call;
  call.collective = collective;
  call.bytes = pattern.bytes;
  return rounds_of(pattern, per_round, of_all, [&](std::uint32_t rank, Sequence& sequence) {
    append_schedule(schedule_of(call, algorithm, pattern.ranks, rank), {0, pattern.ranks, {}}, 0,
                    sequence);
  });
}

Operation message(Kind kind, std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag) {
  Operation made;
  made.kind = kind;
  made.peer = peer;
  made.amount = bytes;
  made.tag = tag;
  return made;
}

/// The neighbour of a rank in a direction: 2i is back, 2i + 1 is forth along side i.
std::uint32_t neighbour(std::uint32_t rank, std::uint32_t direction, const Box& box) {
  const std::uint32_t side = direction / 2;
  std::uint64_t stride = 1;
  for (std::size_t i = 0; i < side; ++i) stride *= box[i];
  const std::uint64_t at = rank / stride % box[side];
  const std::uint64_t next = (at + (direction % 2 == 0 ? box[side] - 1 : 1)) % box[side];
  return static_cast<std::uint32_t>(rank + next * stride - at * stride);
}

}  // namespace

Box near_cube(std::uint32_t ranks) {
  Box best{ranks, 1, 1};
  for (std::uint32_t last = 1; std::uint64_t{last} * last * last <= ranks; ++last) {
    if (ranks % last != 0) continue;
    for (std::uint32_t middle = last; std::uint64_t{middle} * middle * last <= ranks; ++middle) {
      if (ranks / last % middle == 0)
        best = std::min(best, Box{ranks / last / middle, middle, last});
    }
  }
  return best;
}

Result<Program> ring_program(const Pattern& pattern) {
  return rounds_of(pattern, kExchange, kExchange * pattern.ranks,
                   [&](std::uint32_t rank, Sequence& sequence) {
                     const std::uint32_t right = (rank + 1) % pattern.ranks;
                     const std::uint32_t left = rank == 0 ? pattern.ranks - 1 : rank - 1;
                     const std::uint32_t posted =
                         sequence.start(message(Kind::kReceive, left, pattern.bytes, 0));
                     sequence.run(message(Kind::kSend, right, pattern.bytes, 0));
                     sequence.wait_for(std::array{posted});
                   });
}

Result<Program> halo_program(const Pattern& pattern, const Box& box) {
  const std::uint64_t points = saturating_multiply(
      saturating_multiply<std::uint64_t>(box[0], box[1]), std::uint64_t{box[2]});
  if (points != pattern.ranks) {
    return unexpected(Code::kInvalidArgument, "the grid has " + std::to_string(points) +
                                                  " points for " + std::to_string(pattern.ranks) +
                                                  " ranks; take a grid of as many points");
  }
  const std::uint64_t per_round = 2 * kDirections + 1;
  return rounds_of(pattern, per_round, per_round * pattern.ranks,
                   [&](std::uint32_t rank, Sequence& sequence) {
                     std::vector<std::uint32_t> posted;
                     for (const Kind kind : {Kind::kReceive, Kind::kSend}) {
                       for (std::uint32_t direction = 0; direction < kDirections; ++direction) {
                         const std::uint32_t peer = neighbour(rank, direction, box);
                         if (peer == rank) continue;
                         // A message goes forth for its sender and comes from behind for its
                         // receiver.
                         const std::uint32_t tag = kind == Kind::kSend ? direction : direction ^ 1;
                         posted.push_back(sequence.start(message(kind, peer, pattern.bytes, tag)));
                       }
                     }
                     if (!posted.empty()) sequence.wait_for(posted);
                   });
}

Result<Program> binomial_program(const Pattern& pattern) {
  const std::uint64_t depth = std::bit_width(pattern.ranks);
  const std::uint64_t messages = std::max(pattern.ranks, 1u) - 1;
  return rounds_of_calls(pattern, Collective::kBcast, Algorithm::kBinomial, depth, 2 * messages);
}

Result<Program> recursive_doubling_program(const Pattern& pattern) {
  const std::uint64_t per_round = kExchange * std::bit_width(pattern.ranks);
  return rounds_of_calls(pattern, Collective::kAllreduce, Algorithm::kRecursiveDoubling, per_round,
                         per_round * pattern.ranks);
}

}  // namespace xylem::predict
