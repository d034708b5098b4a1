#include "storage/write/range_ledger_internal.h"

namespace xylem::storage {

// The ranges are disjoint, so only the last one that begins before ?2 can reach it.
RangeLedger::RangeLedger(Connection& connection, const std::string& table, const std::string& owner)
    : near_(connection, "SELECT first, end FROM " + table + " WHERE " + owner +
                            " = ?1 AND first <= ?3 AND end >= ?2 AND first >= coalesce((SELECT "
                            "max(first) FROM " +
                            table + " WHERE " + owner + " = ?1 AND first <= ?2), 0)"),
      extend_(connection,
              "UPDATE " + table + " SET end = ?3 WHERE " + owner + " = ?1 AND first = ?2"),
      forget_(connection, "DELETE FROM " + table + " WHERE " + owner + " = ?1 AND first = ?2"),
      remember_(connection, "INSERT INTO " + table + " VALUES(?,?,?)") {}

IntervalSet RangeLedger::near(std::int64_t owner, std::uint64_t first, std::uint64_t end) {
  IntervalSet known;
  for (bool more = near_.first(owner, first, end); more; more = near_.next()) {
    known.insert(near_.count(0), near_.count(1));
  }
  return known;
}

void RangeLedger::insert(std::int64_t owner, std::uint64_t first, std::uint64_t end,
                         const IntervalSet& near) {
  const auto& ranges = near.intervals();
  if (ranges.size() == 1 && ranges.front().end == first) {
    extend_.run(owner, ranges.front().first, end);
    return;
  }
  IntervalSet whole = IntervalSet::range(first, end);
  for (const auto& range : ranges) {
    forget_.run(owner, range.first);
    whole.insert(range.first, range.end);
  }
  remember_.run(owner, whole.intervals().front().first, whole.intervals().front().end);
}

}  // namespace xylem::storage
