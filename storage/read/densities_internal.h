#pragma once

// The share of time in MPI in each slot of a range, computed from calls.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/read/run_view_internal.h"
#include "wire/chunk.h"

namespace xylem::storage {

/// Maximum number of cells. Each class of functions needs 8 bytes for each cell.
constexpr std::uint64_t kMaxDensityCells = 1u << 20;

/// Sums the time of calls by row, class of functions and slot. Adding a call takes constant time,
/// however long the call is. Not thread-safe.
class DensitySums {
 public:
  DensitySums(const Slots& slots, std::size_t rows);

  const Slots& slots() const { return slots_; }
  /// Adds a call of a row, as far as it is in the range.
  void add(std::size_t row, const std::string& function_class, Nanos begin_ns, Nanos end_ns) {
    add(row, function_class, {begin_ns, end_ns, 1});
  }
  /// A span of time of which calls take a share, evenly.
  struct Span {
    Nanos begin_ns = 0, end_ns = 0;
    double share = 0;  ///< 0 to 1.
  };
  void add(std::size_t row, const std::string& function_class, const Span& span);

  /// Sets the cells, totals and classes of a grid that has its rows.
  void finish(RankGrid& grid) const;

 private:
  struct Class {
    std::string name;
    /// For each cell, the time in it less the time in the cell before it in its row, modulo 2^64.
    std::vector<std::uint64_t> steps;
  };
  std::vector<std::uint64_t>& steps_of(const std::string& function_class);

  Slots slots_;
  std::size_t rows_;
  std::vector<Class> classes_;
};

/// Estimates where the calls were that have no record of their own, because their function is
/// sampled. As in the windows of the agent, they took as long as the timed call, but not longer
/// than the free time since the function's previous record in the same thread. The free time is the
/// time in which the thread was in no recorded call. Not thread-safe.
class SampledCalls {
 public:
  /// Takes the calls of one process in the order of their records. Returns the span in which the
  /// calls without a record were, and the share that they took of it. The share is 0 if there are
  /// none.
  DensitySums::Span take(const wire::Event& event, FunctionKey function);

 private:
  struct Record {
    Nanos end_ns = 0;
    std::uint64_t before_ns = 0;  ///< Time in calls of the thread up to `end_ns`.
  };
  struct Thread {
    Nanos first_ns = 0;
    std::uint64_t in_calls_ns = 0;
    std::unordered_map<FunctionKey, Record> newest;
  };
  std::unordered_map<ThreadIndex, Thread> threads_;
};

}  // namespace xylem::storage
