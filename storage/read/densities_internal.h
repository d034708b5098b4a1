#pragma once

// The share of time in MPI in each slot of a range, computed from calls.

#include <cstdint>
#include <string>
#include <vector>

#include "storage/read/run_view_internal.h"

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
  void add(std::size_t row, const std::string& function_class, Nanos begin_ns, Nanos end_ns);

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

}  // namespace xylem::storage
