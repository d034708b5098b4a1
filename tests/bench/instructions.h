#pragma once

#include <benchmark/benchmark.h>
#include <valgrind/callgrind.h>

#include <string>
#include <utility>

namespace xylem::testing {

/// Counts the instructions that a benchmark executes while this object lives, for ratchet.py. Only
/// `valgrind --tool=callgrind --collect-atstart=no` counts; elsewhere it costs a few instructions
/// at the beginning and at the end. Not thread-safe.
///
/// When it ends, callgrind writes a profile called "instructions NAME ITERATIONS".
class CountedInstructions {
 public:
  CountedInstructions(const benchmark::State& state, std::string name)
      : state_(state), name_(std::move(name)) {
    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
  }
  ~CountedInstructions() {
    const std::string title = "instructions " + name_ + " " + std::to_string(state_.iterations());
    CALLGRIND_DUMP_STATS_AT(title.c_str());
    CALLGRIND_TOGGLE_COLLECT;
  }
  CountedInstructions(const CountedInstructions&) = delete;
  CountedInstructions& operator=(const CountedInstructions&) = delete;

 private:
  const benchmark::State& state_;
  std::string name_;
};

/// Inside CountedInstructions: instructions that are executed while this object lives are not
/// counted.
class NotCounted {
 public:
  NotCounted() { CALLGRIND_TOGGLE_COLLECT; }
  ~NotCounted() { CALLGRIND_TOGGLE_COLLECT; }
  NotCounted(const NotCounted&) = delete;
  NotCounted& operator=(const NotCounted&) = delete;
};

/// Under valgrind, a benchmark has exactly kIterations iterations. Elsewhere the library chooses
/// the number.
template <int kIterations>
void when_counted(benchmark::internal::Benchmark* made) {
  if (RUNNING_ON_VALGRIND) made->Iterations(kIterations);
}

}  // namespace xylem::testing
