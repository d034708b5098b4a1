// Collectives with a root, and barriers. Trees are those of ranks that count from the root.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "predict/collectives/schedule_maker_internal.h"

namespace xylem::predict {
namespace {

constexpr std::uint32_t kKnomialRadix = 4;

struct Family {
  std::uint32_t parent = 0;  ///< Not of rank 0.
  std::vector<std::uint32_t> children;
};

/// Children in the order in which a broadcast reaches them: the largest subtree first.
Family knomial(const ScheduleMaker& maker, std::uint32_t radix) {
  Family family;
  const std::uint64_t rank = maker.rank();
  std::uint64_t mask = 1;
  for (; mask < maker.ranks(); mask *= radix) {
    if (rank % (mask * radix) == 0) continue;
    family.parent = static_cast<std::uint32_t>(rank - rank % (mask * radix));
    break;
  }
  while (mask > 1) {
    mask /= radix;
    for (std::uint64_t i = 1; i < radix; ++i) {
      const std::uint64_t child = rank + i * mask;
      if (child < maker.ranks()) family.children.push_back(static_cast<std::uint32_t>(child));
    }
  }
  return family;
}

Family chain(const ScheduleMaker& maker) {
  Family family{maker.rank() - 1, {}};
  if (maker.rank() + 1 < maker.ranks()) family.children.push_back(maker.rank() + 1);
  return family;
}

Family binary(const ScheduleMaker& maker) {
  Family family{(maker.rank() - 1) / 2, {}};
  for (std::uint64_t child = 2 * std::uint64_t{maker.rank()} + 1;
       child < maker.ranks() && family.children.size() < 2; ++child) {
    family.children.push_back(static_cast<std::uint32_t>(child));
  }
  return family;
}

Family star(const ScheduleMaker& maker) {
  Family family;
  for (std::uint32_t rank = 1; maker.rank() == 0 && rank < maker.ranks(); ++rank) {
    family.children.push_back(rank);
  }
  return family;
}

Family family_of(const ScheduleMaker& maker, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kLinear:
      return star(maker);
    case Algorithm::kChain:
      return chain(maker);
    case Algorithm::kBinaryTree:
      return binary(maker);
    case Algorithm::kKnomial:
      return knomial(maker, kKnomialRadix);
    default:
      return knomial(maker, 2);
  }
}

/// `at_once`: a rank sends to all its children in one step.
void tree_bcast(ScheduleMaker& maker, const Family& family, const std::vector<Blocks>& blocks,
                bool at_once) {
  if (maker.rank() != 0) maker.receive_step(family.parent, blocks, Effect::kStore);
  if (at_once && !family.children.empty()) maker.step();
  for (const std::uint32_t child : family.children) {
    at_once ? maker.send(child, blocks) : maker.send_step(child, blocks);
  }
}

/// The smallest subtree is ready first.
void tree_reduce(ScheduleMaker& maker, const Family& family, const std::vector<Blocks>& blocks) {
  for (std::size_t i = family.children.size(); i-- > 0;) {
    maker.receive_step(family.children[i], blocks, Effect::kCombine);
  }
  if (maker.rank() != 0) maker.send_step(family.parent, blocks);
}

/// The blocks of the subtree of a binomial tree that begins at `first`, when it is `size` wide.
Blocks subtree(const ScheduleMaker& maker, std::uint64_t first, std::uint64_t size) {
  return {first, std::min<std::uint64_t>(size, maker.ranks() - first)};
}

void binomial_gather(ScheduleMaker& maker) {
  const std::uint64_t rank = maker.rank();
  for (std::uint64_t mask = 1; mask < maker.ranks(); mask *= 2) {
    if ((rank & mask) != 0) {
      maker.send_step(static_cast<std::uint32_t>(rank - mask), {subtree(maker, rank, mask)});
      return;
    }
    if (rank + mask >= maker.ranks()) continue;
    maker.receive_step(static_cast<std::uint32_t>(rank + mask), {subtree(maker, rank + mask, mask)},
                       Effect::kStore);
  }
}

/// Reduce-scatter by halving, then a binomial gather over the actors. Rank 0 is an actor.
void rabenseifner_reduce(ScheduleMaker& maker) {
  const Fold fold(maker.ranks());
  const Blocks all{0, fold.actors};
  const auto actor = fold.actor(maker.rank());
  if (!actor) {
    maker.send_step(maker.rank() - 1, {all});
    return;
  }
  if (fold.acts_for_two(maker.rank())) {
    maker.receive_step(maker.rank() + 1, {all}, Effect::kCombine);
  }
  halving(maker, fold, *actor, [](std::uint32_t first, std::uint32_t count) {
    return Blocks{first, count};
  });
  for (std::uint32_t mask = 1; mask < fold.actors; mask *= 2) {
    if ((*actor & mask) != 0) {
      maker.send_step(fold.rank_of(*actor - mask), {{*actor, mask}});
      return;
    }
    maker.receive_step(fold.rank_of(*actor + mask), {{*actor + mask, mask}}, Effect::kStore);
  }
}

void dissemination(ScheduleMaker& maker) {
  for (std::uint64_t distance = 1; distance < maker.ranks(); distance *= 2) {
    maker.exchange(maker.after(distance), {}, maker.before(distance), {}, Effect::kStore);
  }
}

void doubling_barrier(ScheduleMaker& maker) {
  const Fold fold(maker.ranks());
  const auto actor = fold.actor(maker.rank());
  if (!actor) {
    maker.send_step(maker.rank() - 1, {});
    maker.receive_step(maker.rank() - 1, {}, Effect::kStore);
    return;
  }
  const bool for_two = fold.acts_for_two(maker.rank());
  if (for_two) maker.receive_step(maker.rank() + 1, {}, Effect::kStore);
  for (std::uint32_t mask = 1; mask < fold.actors; mask *= 2) {
    const std::uint32_t peer = fold.rank_of(*actor ^ mask);
    maker.exchange(peer, {}, peer, {}, Effect::kStore);
  }
  if (for_two) maker.send_step(maker.rank() + 1, {});
}

}  // namespace

void binomial_scatter(ScheduleMaker& maker) {
  const std::uint64_t rank = maker.rank();
  std::uint64_t mask = 1;
  for (; mask < maker.ranks() && (rank & mask) == 0; mask *= 2) {
  }
  if (rank != 0) {
    maker.receive_step(static_cast<std::uint32_t>(rank - mask), {subtree(maker, rank, mask)},
                       Effect::kStore);
  }
  for (mask /= 2; mask > 0; mask /= 2) {
    if (rank + mask >= maker.ranks()) continue;
    maker.send_step(static_cast<std::uint32_t>(rank + mask), {subtree(maker, rank + mask, mask)});
  }
}

void linear_scatter(ScheduleMaker& maker) {
  maker.step();
  if (maker.rank() != 0) maker.receive(0, {{maker.rank(), 1}}, Effect::kStore);
  for (std::uint32_t rank = 1; maker.rank() == 0 && rank < maker.ranks(); ++rank) {
    maker.send(rank, {{rank, 1}});
  }
}

void linear_gather(ScheduleMaker& maker) {
  maker.step();
  if (maker.rank() != 0) maker.send(0, {{maker.rank(), 1}});
  for (std::uint32_t rank = 1; maker.rank() == 0 && rank < maker.ranks(); ++rank) {
    maker.receive(rank, {{rank, 1}}, Effect::kStore);
  }
}

void binomial_bcast(ScheduleMaker& maker, const Blocks& blocks) {
  tree_bcast(maker, knomial(maker, 2), {blocks}, false);
}

void binomial_reduce(ScheduleMaker& maker, const Blocks& blocks) {
  tree_reduce(maker, knomial(maker, 2), {blocks});
}

void make_barrier(ScheduleMaker& maker, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kDissemination:
      dissemination(maker);
      return;
    case Algorithm::kRecursiveDoubling:
      doubling_barrier(maker);
      return;
    case Algorithm::kLinear:
      maker.step();
      if (maker.rank() != 0) maker.send(0, {});
      for (const std::uint32_t it : star(maker).children) maker.receive(it, {}, Effect::kStore);
      tree_bcast(maker, star(maker), {}, true);
      return;
    default:
      CHECK(algorithm == Algorithm::kBinomial);
      tree_reduce(maker, knomial(maker, 2), {});
      tree_bcast(maker, knomial(maker, 2), {}, false);
  }
}

void make_bcast(ScheduleMaker& maker, Algorithm algorithm) {
  if (algorithm == Algorithm::kScatterAllgather) {
    binomial_scatter(maker);
    doubling_allgather(maker);
  } else if (algorithm == Algorithm::kScatterRingAllgather) {
    binomial_scatter(maker);
    ring_allgather(maker);
  } else {
    tree_bcast(maker, family_of(maker, algorithm), {{0, 1}}, algorithm != Algorithm::kBinomial);
  }
}

void make_reduce(ScheduleMaker& maker, Algorithm algorithm) {
  if (algorithm == Algorithm::kRabenseifner) {
    rabenseifner_reduce(maker);
  } else {
    tree_reduce(maker, family_of(maker, algorithm), {{0, 1}});
  }
}

void make_gather(ScheduleMaker& maker, Algorithm algorithm) {
  algorithm == Algorithm::kLinear ? linear_gather(maker) : binomial_gather(maker);
}

void make_scatter(ScheduleMaker& maker, Algorithm algorithm) {
  algorithm == Algorithm::kLinear ? linear_scatter(maker) : binomial_scatter(maker);
}

}  // namespace xylem::predict
