#pragma once

// Computing of a program that was recorded on one processor and is predicted for another (SimHPC,
// Sec. 7: a factor for the ratio of performance).

#include <cstdint>

#include "predict/trace/program.h"

namespace xylem::predict {

/// The ratio 1: the target's core is as fast as the one on which the program was recorded. Ratios
/// are in millionths, so 2'000'000 is a core that is twice as fast.
constexpr std::uint64_t kSameProcessor = 1'000'000;

/// The program with all computing divided by `ratio`, which is above 0. Times stay whole
/// nanoseconds. What rounding takes from one operation goes to the next one with computing, so the
/// sum of the first n operations of a rank is right to half a nanosecond, for each n. A time above
/// 2^64 - 1 ns becomes this time.
Program scale_computing(Program program, std::uint64_t ratio);

}  // namespace xylem::predict
