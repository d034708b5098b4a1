#pragma once

// Computing of a program that was recorded on one processor and is predicted for another (SimHPC,
// Sec. 7: a factor for the ratio of performance).

#include <cstdint>

#include "predict/trace/program.h"

namespace xylem::predict {

/// The ratio 1: the target's core is as fast as the one on which the program was recorded. Ratios
/// are in millionths, so 2'000'000 is a core that is twice as fast.
constexpr std::uint64_t kSameProcessor = 1'000'000;

/// Divides times one after another by a ratio, which is above 0. Times stay whole nanoseconds. What
/// rounding takes from one goes to the next one, so the sum of the first n is right to half a
/// nanosecond, for each n. A time above 2^64 - 1 ns becomes this time. A value type.
class ComputingScale {
 public:
  explicit ComputingScale(std::uint64_t ratio) : ratio_(ratio), rest_(ratio / 2) {}
  std::uint64_t next(std::uint64_t ns);

 private:
  std::uint64_t ratio_;
  std::uint64_t rest_;  ///< In millionths of `ratio_`; below it.
};

/// The program with all computing divided by `ratio`, rank by rank.
Program scale_computing(Program program, std::uint64_t ratio);

}  // namespace xylem::predict
