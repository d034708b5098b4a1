#pragma once

// Spreads the estimated time of sampled calls over the slices in which the calls were made.
//
// The calls of a sampled function were made at unknown times between two records. So their time is
// spread evenly over the thread's free time between these records. Free time is time that no other
// call uses. In this picture, # is time in other calls:
//
//   slice     |   1   |   2   |   3   |        30 ns of Iprobe, somewhere from a to b.
//   in MPI    |##     |#######|#      |        Slice 1 has 40 ns free after a, slice 2 has none,
//             |  a    |       |  b    |        slice 3 has 20 ns before b. So 1 gets 20, 3 gets 10.
//
// So no slice gets more time than it has free.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace xylem::backend {

/// The time of one thread that is already counted, for its newest slices. Pure.
class SliceRoom {
 public:
  /// Number of slices that are remembered: 16 s of windows of 250 ms. Earlier slices get nothing.
  static constexpr std::size_t kSlices = 64;

  /// Counts time of calls in a slice.
  void use(std::uint64_t slice, std::uint64_t ns) {
    move_to(slice);
    if (slice + kSlices > newest_) used_[slice % kSlices] += ns;
  }

  /// Forgets all slices. From now on, time before `at` gets nothing.
  void restart(Nanos at) {
    used_ = {};
    newest_ = 0;
    earliest_ = at;
  }

  /// Spreads `ns` over the free time from `from` to `to` in slices of `slice_ns`, and counts it.
  /// Calls `give(slice, part)` for each slice that gets a part. All time counted so far must be
  /// before `to`, except for `later` ns in the slice of `to`. Returns the sum of the parts. It is
  /// less than `ns` if there is not enough free time.
  template <typename Give>
  std::uint64_t spread(Nanos from, Nanos to, Nanos slice_ns, std::uint64_t later, std::uint64_t ns,
                       Give give) {
    from = std::max({from, earliest_, Nanos{0}});
    if (from >= to || ns == 0) return 0;
    const auto last = static_cast<std::uint64_t>((to - 1) / slice_ns);
    move_to(last);
    const std::uint64_t oldest = newest_ < kSlices ? 0 : newest_ - kSlices + 1;
    const std::uint64_t first = std::max(static_cast<std::uint64_t>(from / slice_ns), oldest);
    if (first > last) return 0;
    std::array<std::uint64_t, kSlices> room{};
    std::uint64_t all = 0;
    for (std::uint64_t slice = first; slice <= last; ++slice) {
      const std::uint64_t before = slice == last ? std::min(later, used_[slice % kSlices]) : 0;
      room[slice - first] = room_in(slice, from, to, slice_ns, used_[slice % kSlices] - before);
      all += room[slice - first];
    }
    const std::uint64_t sum = std::min(ns, all);
    std::uint64_t left = sum, left_room = all;
    for (std::uint64_t slice = first; slice <= last && left != 0; ++slice) {
      const std::uint64_t here = room[slice - first];
      if (here == 0) continue;
      // Each slice gets its share of the remaining time. So rounding never exceeds a slice's room.
      const auto part = static_cast<std::uint64_t>(Product{left} * here / left_room);
      left_room -= here;
      const std::uint64_t given = left_room == 0 ? left : part;
      left -= given;
      if (given == 0) continue;
      used_[slice % kSlices] += given;
      give(slice, given);
    }
    return sum;
  }

 private:
  __extension__ using Product = unsigned __int128;  // Of any two times.

  void move_to(std::uint64_t slice) {
    if (slice <= newest_) return;
    if (slice - newest_ >= kSlices) {
      used_ = {};
    } else {
      for (std::uint64_t next = newest_ + 1; next <= slice; ++next) used_[next % kSlices] = 0;
    }
    newest_ = slice;
  }

  // Nothing is known about the time before `earliest_`, so none of it counts as free.
  std::uint64_t room_in(std::uint64_t slice, Nanos from, Nanos to, Nanos slice_ns,
                        std::uint64_t used) const {
    const Nanos begin = static_cast<Nanos>(slice) * slice_ns;
    const Nanos end = std::min(to, begin + slice_ns);
    const auto inside = static_cast<std::uint64_t>(end - std::max(from, begin));
    const auto passed = static_cast<std::uint64_t>(end - std::max(begin, earliest_));
    return std::min(inside, passed - std::min(passed, used));
  }

  std::array<std::uint64_t, kSlices> used_{};
  std::uint64_t newest_ = 0;
  Nanos earliest_ = 0;
};

}  // namespace xylem::backend
