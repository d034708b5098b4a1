// alltoall and alltoallv, scan and exscan.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "predict/collectives/schedule_maker_internal.h"

namespace xylem::predict {
namespace {

/// Maximum number of ranks with which a rank exchanges blocks at once. MPICH has it as a parameter
/// with this default.
constexpr std::uint32_t kThrottle = 32;

Blocks block(const ScheduleMaker& maker, std::uint64_t from, std::uint64_t to) {
  return {from * maker.ranks() + to, 1};
}

void exchange(ScheduleMaker& maker, std::uint32_t to, std::uint32_t from) {
  maker.receive(from, {block(maker, from, maker.rank())}, Effect::kStore);
  maker.send(to, {block(maker, maker.rank(), to)});
}

void pairwise(ScheduleMaker& maker) {
  const bool power = std::has_single_bit(maker.ranks());
  for (std::uint32_t i = 1; i < maker.ranks(); ++i) {
    maker.step();
    exchange(maker, power ? maker.rank() ^ i : maker.after(i),
             power ? maker.rank() ^ i : maker.before(i));
  }
}

void scattered(ScheduleMaker& maker, std::uint32_t at_once) {
  for (std::uint32_t i = 1; i < maker.ranks(); ++i) {
    if ((i - 1) % at_once == 0) maker.step();
    exchange(maker, maker.before(i), maker.after(i));
  }
}

/// A block whose destination is i ranks further travels over the distances of the bits of i, from
/// the lowest bit on. `passed` are those bits that it has passed when it is at `at`.
Blocks travelling(const ScheduleMaker& maker, std::uint64_t at, std::uint64_t i,
                  std::uint64_t passed) {
  const std::uint64_t ranks = maker.ranks();
  const std::uint64_t from = (at + ranks - passed) % ranks;
  return block(maker, from, (from + i) % ranks);
}

void bruck(ScheduleMaker& maker) {
  for (std::uint64_t bit = 1; bit < maker.ranks(); bit *= 2) {
    std::vector<Blocks> sent, received;
    for (std::uint64_t i = bit; i < maker.ranks(); i = (i + 1) | bit) {
      const std::uint64_t passed = i & (bit - 1);
      sent.push_back(travelling(maker, maker.rank(), i, passed));
      received.push_back(travelling(maker, maker.before(bit), i, passed));
    }
    maker.exchange(maker.after(bit), std::move(sent), maker.before(bit), std::move(received),
                   Effect::kStore);
  }
}

/// After each step a rank has the sum of its group of 2 * mask ranks, as far as they exist. What
/// comes from a lower rank also belongs to its prefix.
void doubling_scan(ScheduleMaker& maker) {
  const Blocks sum{kGroupSum, 1};
  for (std::uint64_t mask = 1; mask < maker.ranks(); mask *= 2) {
    const std::uint64_t peer = maker.rank() ^ mask;
    if (peer >= maker.ranks()) continue;
    const auto with = static_cast<std::uint32_t>(peer);
    maker.exchange(with, {sum}, with, {sum},
                   peer < maker.rank() ? Effect::kCombineAndPrefix : Effect::kCombine);
  }
}

void linear_scan(ScheduleMaker& maker) {
  const Blocks sum{kGroupSum, 1};
  if (maker.rank() > 0) {
    maker.receive_step(maker.rank() - 1, {sum}, Effect::kWholePrefix);
  }
  if (maker.rank() + 1 < maker.ranks()) maker.send_step(maker.rank() + 1, {sum});
}

}  // namespace

void make_alltoall(ScheduleMaker& maker, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kPairwise:
      pairwise(maker);
      return;
    case Algorithm::kBruck:
      bruck(maker);
      return;
    case Algorithm::kScattered:
      scattered(maker, kThrottle);
      return;
    default:
      CHECK(algorithm == Algorithm::kLinear);
      scattered(maker, std::max(maker.ranks(), 2u) - 1);
  }
}

void make_scan(ScheduleMaker& maker, Algorithm algorithm) {
  algorithm == Algorithm::kLinear ? linear_scan(maker) : doubling_scan(maker);
}

}  // namespace xylem::predict
