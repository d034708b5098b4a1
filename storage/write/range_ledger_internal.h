#pragma once

// Stores ranges of numbers as rows of a table. Ranges that touch become one row, so data that
// arrives in order needs only one row.

#include <cstdint>
#include <string>

#include "base/interval_set.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// Uses a table with the columns (`owner`, first, end) and the key (`owner`, first). Call it inside
/// a transaction; the caller checks the connection's failure.
class RangeLedger {
 public:
  RangeLedger(Connection& connection, const std::string& table, const std::string& owner);

  /// Returns exactly the stored ranges that overlap or touch [first, end).
  IntervalSet near(std::int64_t owner, std::uint64_t first, std::uint64_t end);

  /// Adds a range. No part of it may be stored yet. `near` is the result of near() for this range.
  void insert(std::int64_t owner, std::uint64_t first, std::uint64_t end, const IntervalSet& near);

 private:
  Statement near_, extend_, forget_, remember_;
};

}  // namespace xylem::storage
