#include "backend/leaf/time_estimate.h"

#include <algorithm>
#include <limits>

namespace xylem::backend {
namespace {

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::uint64_t>::max() : result;
}

// Returns the time between two instants minus the time that was already assigned; at least 0.
std::uint64_t left(Nanos from, Nanos to, std::uint64_t given) {
  const auto passed = static_cast<std::uint64_t>(std::max<Nanos>(0, to - from));
  return passed - std::min(passed, given);
}

}  // namespace

void TimeEstimate::meet(std::uint32_t number, Nanos first) {
  if (number >= threads_.size()) threads_.resize(number + 1);
  threads_[number] = std::make_unique<Thread>();
  threads_[number]->first = first;
}

TimeEstimate::Timed& TimeEstimate::meet(Thread& in, FunctionId function) {
  in.timed.push_back({.end = in.first});
  in.at[raw(function)] = static_cast<std::uint16_t>(in.timed.size());
  return in.timed.back();
}

std::uint64_t TimeEstimate::time_of_many(const Thread& in, const Timed& timed,
                                         std::uint64_t duration, Nanos end, std::uint64_t calls) {
  const std::uint64_t free = left(timed.end, end, in.given - timed.before);
  return std::max(duration, std::min(product(duration, calls), free));
}

Nanos TimeEstimate::earliest(ThreadIndex thread, FunctionId function, Nanos begin,
                             Nanos since) const {
  const std::uint32_t number = std::min(raw(thread), capture::kMaxThreads - 1);
  if (number >= threads_.size() || threads_[number] == nullptr) return std::min(begin, since);
  const Thread& in = *threads_[number];
  const std::uint16_t at = in.at[raw(function)];
  return at == 0 ? in.first : in.timed[at - 1].end;
}

std::vector<TimeEstimate::Span> TimeEstimate::unrecorded_spans(FunctionId function,
                                                               Nanos until) const {
  std::vector<Span> spans;
  for (std::uint32_t number = 0; number < threads_.size(); ++number) {
    if (threads_[number] == nullptr) continue;
    const Thread& in = *threads_[number];
    const std::uint16_t at = in.at[raw(function)];
    if (at == 0) continue;
    const Nanos begin = in.timed[at - 1].end;
    const Nanos end = begin == in.last ? until : in.last;
    if (begin < end) spans.push_back({ThreadIndex{number}, begin, end});
  }
  return spans;
}

std::uint64_t TimeEstimate::of_unrecorded(FunctionId function, std::uint64_t calls,
                                          Nanos until) const {
  std::uint64_t time = 0, timed_calls = 0, free = 0;
  for (const auto& thread : threads_) {
    const std::uint16_t at = thread == nullptr ? 0 : thread->at[raw(function)];
    if (at == 0) continue;
    const Timed& timed = thread->timed[at - 1];
    const Nanos end = thread->last > timed.end ? thread->last : until;
    time = sum(time, timed.time_ns);
    timed_calls = sum(timed_calls, timed.calls);
    free = sum(free, left(timed.end, end, thread->given - timed.before));
  }
  if (timed_calls == 0) return 0;
  const double mean = static_cast<double>(time) / static_cast<double>(timed_calls);
  const double all = mean * static_cast<double>(calls);
  return all >= static_cast<double>(free) ? free : static_cast<std::uint64_t>(all);
}

}  // namespace xylem::backend
