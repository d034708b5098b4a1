#pragma once

// Words in which the algorithms are written: steps, the sizes of blocks, and folding.

#include <bit>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "predict/collectives/schedule.h"

namespace xylem::predict {

/// The bytes of some blocks.
using Layout = std::function<std::uint64_t(const Blocks&)>;

/// Collects the steps of one rank. All ranks here count from the root; 0 without a root.
class ScheduleMaker {
 public:
  ScheduleMaker(std::uint32_t ranks, std::uint32_t rank, std::uint32_t root, Layout layout)
      : ranks_(ranks),
        root_(root),
        rank_(rank < root ? rank + ranks - root : rank - root),
        layout_(std::move(layout)) {}

  std::uint32_t ranks() const { return ranks_; }
  std::uint32_t rank() const { return rank_; }

  /// Begins a step. Messages belong to the step that was begun last.
  void step() { schedule_.emplace_back(); }
  void send(std::uint32_t to, std::vector<Blocks> blocks) {
    schedule_.back().sends.push_back(message(to, std::move(blocks), Effect::kStore));
  }
  void receive(std::uint32_t from, std::vector<Blocks> blocks, Effect effect) {
    schedule_.back().receives.push_back(message(from, std::move(blocks), effect));
  }

  /// Steps with one message, or with one to send and one to receive.
  void send_step(std::uint32_t to, std::vector<Blocks> blocks) {
    step();
    send(to, std::move(blocks));
  }
  void receive_step(std::uint32_t from, std::vector<Blocks> blocks, Effect effect) {
    step();
    receive(from, std::move(blocks), effect);
  }
  void exchange(std::uint32_t to, std::vector<Blocks> sent, std::uint32_t from,
                std::vector<Blocks> received, Effect effect) {
    step();
    receive(from, std::move(received), effect);
    send(to, std::move(sent));
  }

  /// The rank so far behind or before this one, around the ring.
  std::uint32_t after(std::uint64_t distance) const {
    return static_cast<std::uint32_t>((rank_ + distance) % ranks_);
  }
  std::uint32_t before(std::uint64_t distance) const { return after(ranks_ - distance % ranks_); }

  Schedule finish() && { return std::move(schedule_); }

 private:
  Message message(std::uint32_t peer, std::vector<Blocks> blocks, Effect effect) const {
    Message made;
    made.peer = static_cast<std::uint32_t>((std::uint64_t{peer} + root_) % ranks_);
    for (const Blocks& it : blocks) made.bytes = add(made.bytes, layout_(it));
    made.blocks = std::move(blocks);
    made.effect = effect;
    return made;
  }
  static std::uint64_t add(std::uint64_t a, std::uint64_t b) { return a + b < a ? ~0ull : a + b; }

  std::uint32_t ranks_, root_, rank_;
  Layout layout_;
  Schedule schedule_;
};

/// The largest power of two that is not above `ranks`.
inline std::uint32_t power_below(std::uint32_t ranks) { return std::bit_floor(ranks); }

/// Makes the number of ranks a power of two: with `extra` ranks too many, the ranks 1, 3, ...,
/// 2 * extra - 1 are out, and the rank before each acts for both.
struct Fold {
  explicit Fold(std::uint32_t ranks) : actors(power_below(ranks)), extra(ranks - actors) {}

  /// The number of a rank among the actors, or nothing if it is out.
  std::optional<std::uint32_t> actor(std::uint32_t rank) const {
    if (rank >= 2 * extra) return rank - extra;
    return rank % 2 == 0 ? std::optional(rank / 2) : std::nullopt;
  }
  /// The rank of an actor. Also the first rank for which it acts; for `actors`, the number of
  /// ranks.
  std::uint32_t rank_of(std::uint32_t actor) const {
    return actor < extra ? 2 * actor : actor + extra;
  }
  bool acts_for_two(std::uint32_t rank) const { return rank < 2 * extra && rank % 2 == 0; }

  std::uint32_t actors;
  std::uint32_t extra;
};

/// The blocks of `count` actors from `first` on.
using BlocksOfActors = std::function<Blocks(std::uint32_t first, std::uint32_t count)>;

// Parts of several algorithms. The blocks of each call have the numbers 0 to ranks - 1.

/// Each rank gets block `rank`, from rank 0, which has all of them.
void binomial_scatter(ScheduleMaker& maker);
void linear_scatter(ScheduleMaker& maker);

/// Rank 0 gets all blocks; each rank has its own.
void linear_gather(ScheduleMaker& maker);

/// All ranks get all of `blocks` from rank 0.
void binomial_bcast(ScheduleMaker& maker, const Blocks& blocks);

/// Rank 0 gets `blocks`, reduced over all ranks.
void binomial_reduce(ScheduleMaker& maker, const Blocks& blocks);

/// All ranks get all blocks; each rank has its own. With `shift`, rank r has block r + shift.
void ring_allgather(ScheduleMaker& maker, std::uint32_t shift = 0);
void doubling_allgather(ScheduleMaker& maker);

/// Actors get their blocks, reduced over all actors.
void halving(ScheduleMaker& maker, const Fold& fold, std::uint32_t actor,
             const BlocksOfActors& blocks);
/// Actors get all blocks; each has its own.
void doubling(ScheduleMaker& maker, const Fold& fold, std::uint32_t actor,
              const BlocksOfActors& blocks);

// The algorithms of a collective. The maker's layout fits to it.

void make_barrier(ScheduleMaker& maker, Algorithm algorithm);
void make_bcast(ScheduleMaker& maker, Algorithm algorithm);
void make_reduce(ScheduleMaker& maker, Algorithm algorithm);
void make_gather(ScheduleMaker& maker, Algorithm algorithm);
void make_scatter(ScheduleMaker& maker, Algorithm algorithm);
void make_allgather(ScheduleMaker& maker, Algorithm algorithm);
void make_allreduce(ScheduleMaker& maker, Algorithm algorithm);
void make_reduce_scatter(ScheduleMaker& maker, Algorithm algorithm);
void make_alltoall(ScheduleMaker& maker, Algorithm algorithm);
void make_scan(ScheduleMaker& maker, Algorithm algorithm);

}  // namespace xylem::predict
