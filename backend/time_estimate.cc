#include "backend/time_estimate.h"

#include <algorithm>
#include <limits>

namespace xylem::backend {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? kMost : result;
}

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? kMost : result;
}

// Time from one instant to another less what was given out meanwhile; 0 when there is none.
std::uint64_t left(Nanos from, Nanos to, std::uint64_t given) {
  const auto passed = static_cast<std::uint64_t>(std::max<Nanos>(0, to - from));
  return passed - std::min(passed, given);
}

}  // namespace

std::uint64_t TimeEstimate::take(std::uint32_t thread, FunctionId function, Nanos begin, Nanos end,
                                 std::uint64_t calls, Nanos since) {
  // A hostile record may name any thread.
  const auto [found, fresh] = threads_.try_emplace(std::min(thread, capture::kMaxThreads - 1));
  Thread& in = found->second;
  if (fresh) in.first = calls > 1 ? std::min(begin, since) : begin;

  std::uint16_t& at = in.at[raw(function)];
  if (at == 0) {
    in.timed.push_back({.end = in.first});
    at = static_cast<std::uint16_t>(in.timed.size());
  }
  Timed& timed = in.timed[at - 1];

  const auto duration = static_cast<std::uint64_t>(end - begin);
  std::uint64_t time = duration;
  if (calls > 1) {
    const std::uint64_t free = left(timed.end, end, in.given - timed.before);
    time = std::max(duration, std::min(product(duration, calls), free));
  }
  in.given = sum(in.given, time);
  in.last = std::max(in.last, end);
  timed.end = end;
  timed.before = in.given;
  timed.time_ns = sum(timed.time_ns, time);
  timed.calls = sum(timed.calls, calls);
  return time;
}

std::uint64_t TimeEstimate::of_unrecorded(FunctionId function, std::uint64_t calls,
                                          Nanos until) const {
  std::uint64_t time = 0, timed_calls = 0, free = 0;
  for (const auto& [number, thread] : threads_) {
    const std::uint16_t at = thread.at[raw(function)];
    if (at == 0) continue;
    const Timed& timed = thread.timed[at - 1];
    const Nanos end = thread.last > timed.end ? thread.last : until;
    time = sum(time, timed.time_ns);
    timed_calls = sum(timed_calls, timed.calls);
    free = sum(free, left(timed.end, end, thread.given - timed.before));
  }
  if (timed_calls == 0) return 0;
  const double mean = static_cast<double>(time) / static_cast<double>(timed_calls);
  const double all = mean * static_cast<double>(calls);
  return all >= static_cast<double>(free) ? free : static_cast<std::uint64_t>(all);
}

}  // namespace xylem::backend
