// Collectives without a root, in which each rank has a block or a vector: allgather, allreduce and
// reduce_scatter.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "predict/collectives/schedule_maker_internal.h"

namespace xylem::predict {
namespace {

/// `count` blocks from `first` on, around the ring.
std::vector<Blocks> around(std::uint32_t ranks, std::uint64_t first, std::uint64_t count) {
  first %= ranks;
  if (first + count <= ranks) return {{first, count}};
  return {{first, ranks - first}, {0, first + count - ranks}};
}

/// Each rank has the blocks of `held` ranks from its own on, and gets as many from there.
void bruck_allgather(ScheduleMaker& maker) {
  const std::uint32_t ranks = maker.ranks();
  for (std::uint64_t held = 1; held < ranks; held *= 2) {
    const std::uint64_t count = std::min<std::uint64_t>(held, ranks - held);
    maker.exchange(maker.before(held), around(ranks, maker.rank(), count), maker.after(held),
                   around(ranks, maker.rank() + held, count), Effect::kStore);
  }
}

/// Pairs of ranks exchange their blocks. Then each rank passes on the pair of blocks that it got
/// last, to the left and to the right in turn; ranks with odd numbers the other way.
void neighbor_allgather(ScheduleMaker& maker) {
  const std::uint32_t ranks = maker.ranks();
  const bool even = maker.rank() % 2 == 0;
  const std::uint32_t right = maker.after(1), left = maker.before(1);
  const std::uint32_t partner = even ? right : left;
  maker.exchange(partner, {{maker.rank(), 1}}, partner, {{partner, 1}}, Effect::kStore);
  const std::uint64_t pairs = ranks / 2;
  const std::uint64_t own = maker.rank() / 2;
  const auto pair = [&](std::uint64_t number) { return Blocks{2 * (number % pairs), 2}; };
  std::uint64_t last = own;
  for (std::uint64_t i = 1; i < pairs; ++i) {
    const bool outwards = i % 2 == 1;
    const std::uint32_t peer = outwards == even ? left : right;
    const std::uint64_t distance = (i + 1) / 2;
    const std::uint64_t next = outwards == even ? own + pairs - distance : own + distance;
    maker.exchange(peer, {pair(last)}, peer, {pair(next)}, Effect::kStore);
    last = next;
  }
}

/// In each step a rank sends the sum that it has got in the step before. At the end rank r has the
/// sum of block r + shift.
void ring_reduce_scatter(ScheduleMaker& maker, std::uint32_t shift) {
  const std::uint64_t ranks = maker.ranks();
  for (std::uint64_t i = 0; i + 1 < ranks; ++i) {
    const std::uint64_t sent = (maker.rank() + shift + 2 * ranks - 1 - i) % ranks;
    const std::uint64_t received = (sent + ranks - 1) % ranks;
    maker.exchange(maker.after(1), {{sent, 1}}, maker.before(1), {{received, 1}}, Effect::kCombine);
  }
}

std::uint32_t pairwise_to(const ScheduleMaker& maker, std::uint32_t i) {
  return std::has_single_bit(maker.ranks()) ? maker.rank() ^ i : maker.after(i);
}
std::uint32_t pairwise_from(const ScheduleMaker& maker, std::uint32_t i) {
  return std::has_single_bit(maker.ranks()) ? maker.rank() ^ i : maker.before(i);
}

void pairwise_reduce_scatter(ScheduleMaker& maker) {
  for (std::uint32_t i = 1; i < maker.ranks(); ++i) {
    const std::uint32_t to = pairwise_to(maker, i);
    maker.exchange(to, {{to, 1}}, pairwise_from(maker, i), {{maker.rank(), 1}}, Effect::kCombine);
  }
}

void halving_reduce_scatter(ScheduleMaker& maker) {
  const Fold fold(maker.ranks());
  const Blocks all{0, maker.ranks()};
  const auto actor = fold.actor(maker.rank());
  if (!actor) {
    maker.send_step(maker.rank() - 1, {all});
    maker.receive_step(maker.rank() - 1, {{maker.rank(), 1}}, Effect::kStore);
    return;
  }
  const bool for_two = fold.acts_for_two(maker.rank());
  if (for_two) maker.receive_step(maker.rank() + 1, {all}, Effect::kCombine);
  halving(maker, fold, *actor, [&](std::uint32_t first, std::uint32_t count) {
    const std::uint32_t begin = fold.rank_of(first);
    return Blocks{begin, fold.rank_of(first + count) - begin};
  });
  if (for_two) maker.send_step(maker.rank() + 1, {{maker.rank() + 1, 1}});
}

/// An allreduce among the actors. The other ranks give their vector first, and get the result.
template <typename AmongActors>
void folded_allreduce(ScheduleMaker& maker, const Blocks& all, AmongActors&& among_actors) {
  const Fold fold(maker.ranks());
  const auto actor = fold.actor(maker.rank());
  if (!actor) {
    maker.send_step(maker.rank() - 1, {all});
    maker.receive_step(maker.rank() - 1, {all}, Effect::kStore);
    return;
  }
  const bool for_two = fold.acts_for_two(maker.rank());
  if (for_two) maker.receive_step(maker.rank() + 1, {all}, Effect::kCombine);
  among_actors(fold, *actor);
  if (for_two) maker.send_step(maker.rank() + 1, {all});
}

void doubling_allreduce(ScheduleMaker& maker) {
  const Blocks all{0, 1};
  folded_allreduce(maker, all, [&](const Fold& fold, std::uint32_t actor) {
    for (std::uint32_t mask = 1; mask < fold.actors; mask *= 2) {
      const std::uint32_t peer = fold.rank_of(actor ^ mask);
      maker.exchange(peer, {all}, peer, {all}, Effect::kCombine);
    }
  });
}

void rabenseifner_allreduce(ScheduleMaker& maker) {
  const Blocks all{0, power_below(maker.ranks())};
  folded_allreduce(maker, all, [&](const Fold& fold, std::uint32_t actor) {
    const auto blocks = [](std::uint32_t first, std::uint32_t count) {
      return Blocks{first, count};
    };
    halving(maker, fold, actor, blocks);
    doubling(maker, fold, actor, blocks);
  });
}

}  // namespace

void halving(ScheduleMaker& maker, const Fold& fold, std::uint32_t actor,
             const BlocksOfActors& blocks) {
  for (std::uint32_t mask = fold.actors / 2; mask > 0; mask /= 2) {
    const std::uint32_t peer = fold.rank_of(actor ^ mask);
    const std::uint32_t kept = actor & ~(mask - 1);
    maker.exchange(peer, {blocks(kept ^ mask, mask)}, peer, {blocks(kept, mask)}, Effect::kCombine);
  }
}

void doubling(ScheduleMaker& maker, const Fold& fold, std::uint32_t actor,
              const BlocksOfActors& blocks) {
  for (std::uint32_t mask = 1; mask < fold.actors; mask *= 2) {
    const std::uint32_t peer = fold.rank_of(actor ^ mask);
    const std::uint32_t held = actor & ~(mask - 1);
    maker.exchange(peer, {blocks(held, mask)}, peer, {blocks(held ^ mask, mask)}, Effect::kStore);
  }
}

void ring_allgather(ScheduleMaker& maker, std::uint32_t shift) {
  const std::uint64_t ranks = maker.ranks();
  for (std::uint64_t i = 0; i + 1 < ranks; ++i) {
    const std::uint64_t sent = (maker.rank() + shift + ranks - i) % ranks;
    const std::uint64_t received = (sent + ranks - 1) % ranks;
    maker.exchange(maker.after(1), {{sent, 1}}, maker.before(1), {{received, 1}}, Effect::kStore);
  }
}

void doubling_allgather(ScheduleMaker& maker) {
  const Fold fold(maker.ranks());
  const Blocks all{0, maker.ranks()};
  const std::uint32_t rank = maker.rank();
  const auto actor = fold.actor(rank);
  if (!actor) {
    maker.send_step(rank - 1, {{rank, 1}});
    maker.receive_step(rank - 1, {all}, Effect::kStore);
    return;
  }
  const bool for_two = fold.acts_for_two(rank);
  if (for_two) maker.receive_step(rank + 1, {{rank + 1, 1}}, Effect::kStore);
  doubling(maker, fold, *actor, [&](std::uint32_t first, std::uint32_t count) {
    const std::uint32_t begin = fold.rank_of(first);
    return Blocks{begin, fold.rank_of(first + count) - begin};
  });
  if (for_two) maker.send_step(rank + 1, {all});
}

void make_allgather(ScheduleMaker& maker, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRecursiveDoubling:
      doubling_allgather(maker);
      return;
    case Algorithm::kBruck:
      bruck_allgather(maker);
      return;
    case Algorithm::kNeighborExchange:
      maker.ranks() % 2 == 0 ? neighbor_allgather(maker) : ring_allgather(maker);
      return;
    case Algorithm::kGatherBcast:
      linear_gather(maker);
      binomial_bcast(maker, {0, maker.ranks()});
      return;
    default:
      CHECK(algorithm == Algorithm::kRing);
      ring_allgather(maker);
  }
}

void make_allreduce(ScheduleMaker& maker, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRecursiveDoubling:
      doubling_allreduce(maker);
      return;
    case Algorithm::kRabenseifner:
      rabenseifner_allreduce(maker);
      return;
    case Algorithm::kRing:
      ring_reduce_scatter(maker, 1);
      ring_allgather(maker, 1);
      return;
    case Algorithm::kLinear:
      make_reduce(maker, Algorithm::kLinear);
      make_bcast(maker, Algorithm::kLinear);
      return;
    default:
      CHECK(algorithm == Algorithm::kReduceBcast);
      binomial_reduce(maker, {0, 1});
      binomial_bcast(maker, {0, 1});
  }
}

void make_reduce_scatter(ScheduleMaker& maker, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRecursiveHalving:
      halving_reduce_scatter(maker);
      return;
    case Algorithm::kPairwise:
      pairwise_reduce_scatter(maker);
      return;
    case Algorithm::kRing:
      ring_reduce_scatter(maker, 0);
      return;
    default:
      CHECK(algorithm == Algorithm::kReduceScatter);
      binomial_reduce(maker, {0, maker.ranks()});
      linear_scatter(maker);
  }
}

}  // namespace xylem::predict
