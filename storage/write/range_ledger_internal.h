#pragma once

// Which ranges of something numbered are stored, as rows of a table: ranges that touch are one row,
// so that what comes in order stays one row however much it is.

#include <cstdint>
#include <string>

#include "base/interval_set.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// Over a table with the columns (`owner`, first, end) and the key (`owner`, first). Inside a
/// transaction of the caller, who looks at the connection's failure.
class RangeLedger {
 public:
  RangeLedger(Connection& connection, const std::string& table, const std::string& owner);

  /// The stored ranges that meet or touch [first, end), and no others.
  IntervalSet near(std::int64_t owner, std::uint64_t first, std::uint64_t end);

  /// Adds a range of which nothing was there; `near` is what near() said of it.
  void insert(std::int64_t owner, std::uint64_t first, std::uint64_t end, const IntervalSet& near);

 private:
  Statement near_, extend_, forget_, remember_;
};

}  // namespace xylem::storage
