#pragma once

// Stores ranges of numbers as rows of a table. Adjacent ranges become one row. So if an owner's
// data arrives in order, the owner has only one row.

#include <cstdint>
#include <string>

#include "base/interval_set.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// Uses a table with the columns `owner`, "first" and "end", and the key (`owner`, "first");
/// `owner` is the name passed to the constructor. Call the functions inside a transaction. The
/// caller checks the connection's failure. Called on the thread that calls the store.
class RangeLedger {
 public:
  RangeLedger(Connection& connection, const std::string& table, const std::string& owner);

  /// Returns the stored ranges that overlap [first, end) or are adjacent to it.
  IntervalSet near(std::int64_t owner, std::uint64_t first, std::uint64_t end);

  /// Adds a range. It must not overlap a stored range. `near` is the result of near() for this
  /// range.
  void insert(std::int64_t owner, std::uint64_t first, std::uint64_t end, const IntervalSet& near);

 private:
  Statement near_, extend_, forget_, remember_;
};

}  // namespace xylem::storage
