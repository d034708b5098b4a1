#include <algorithm>
#include <limits>
#include <utility>

#include "storage/read/window_source_internal.h"

namespace xylem::storage {
namespace {

constexpr std::int64_t kMaxProcessBlocks =
    std::numeric_limits<std::int64_t>::max() / kBlockProcesses - 1;

std::string begins_within(Nanos begin_ns, Nanos end_ns) {
  return "begin_ns >= " + std::to_string(begin_ns) + " AND begin_ns < " + std::to_string(end_ns);
}

std::string spans_within(Nanos begin_ns, Nanos end_ns) {
  return " FROM window_span WHERE first_ns < " + std::to_string(end_ns) +
         " AND last_ns >= " + std::to_string(begin_ns);
}

Nanos ceil_to(Nanos at, Nanos unit) { return floor_to(at + unit - 1, unit); }

}  // namespace

WindowSource::WindowSource(ViewReader& reader)
    : reader_(reader),
      window_ns_(std::clamp<Nanos>(reader.window_ns, 1,
                                   std::numeric_limits<Nanos>::max() >> (3 * kSummaryLevels + 6))),
      has_summaries_(reader.inquiry.has_table("window_summary")) {
  if (!has_summaries_) return;
  for (const auto& row : reader.inquiry.ask("SELECT level, done FROM summary_state")) {
    const std::uint64_t level = count_of(row[0]);
    if (level < kSummaryLevels) done_[level] = static_cast<std::int64_t>(count_of(row[1]));
  }
}

std::uint64_t WindowSource::count_rows(Nanos begin_ns, Nanos end_ns) {
  std::uint64_t rows = 0;
  if (has_summaries_) {
    rows = count_of(reader_.inquiry.ask_one(
        "SELECT total(upto_row - after_row)" + spans_within(begin_ns, end_ns), 1)[0]);
  }
  const auto newest = reader_.inquiry.ask_one("SELECT max(rowid) FROM profile_row", 1);
  return rows + saturating_subtract(count_of(newest[0]), static_cast<std::uint64_t>(done_[0]));
}

std::uint64_t WindowSource::count_parts(int level, Nanos begin_ns, Nanos end_ns) {
  if (!has_summaries_) return 0;
  return count_of(reader_.inquiry.ask_one(
      "SELECT count(*) FROM window_summary WHERE level = " + std::to_string(level) + " AND " +
          begins_within(begin_ns, end_ns),
      1)[0]);
}

void WindowSource::scan(int level, Nanos begin_ns, Nanos end_ns, const std::string& what,
                        const std::string& condition, const TakePart& take) {
  if (!has_summaries_ || begin_ns >= end_ns) return;
  reader_.inquiry.scan("SELECT begin_ns, block, " + what +
                           " FROM window_summary WHERE level = " + std::to_string(level) + " AND " +
                           begins_within(begin_ns, end_ns) + condition,
                       [&](std::span<const Value> row) {
                         const auto* bytes = std::get_if<Blob>(&row[2]);
                         // No process is in a block beyond; so that their numbers are numbers.
                         const std::int64_t block =
                             std::clamp(integer_of(row[1]), -kMaxProcessBlocks, kMaxProcessBlocks);
                         take({level, integer_of(row[0]), block,
                               bytes == nullptr ? std::span<const std::byte>() : *bytes});
                       });
}

/// The rows of a level that the next level does not have yet.
std::string WindowSource::not_in(int level) const {
  return " AND id > " + std::to_string(done_[static_cast<std::size_t>(level)]);
}

void WindowSource::scan_cells(int level, Nanos begin_ns, Nanos end_ns, const TakePart& take) {
  for (int at = level; at >= 0; --at) {
    scan(at, floor_to(begin_ns, slot_ns(at)), end_ns, "cells", at == level ? "" : not_in(at + 1),
         take);
  }
}

void WindowSource::scan_part(int level, Nanos begin_ns, std::int64_t block, const TakePart& take) {
  scan(level, begin_ns, begin_ns + 1, "cells", " AND block = " + std::to_string(block), take);
}

void WindowSource::scan_slots(int level, Nanos begin_ns, Nanos end_ns, const std::string& what,
                              const std::vector<std::int64_t>& blocks, const TakePart& take) {
  if (level < 0 || begin_ns >= end_ns) return;
  std::string among;
  for (const std::int64_t block : blocks) {
    among += (among.empty() ? " AND block IN (" : ",") + std::to_string(block);
  }
  if (!among.empty()) among += ")";
  const Nanos from = ceil_to(begin_ns, slot_ns(level));
  const Nanos to = floor_to(end_ns, slot_ns(level));
  if (from >= to) return scan_slots(level - 1, begin_ns, end_ns, what, blocks, take);
  for (int at = level; at >= 0; --at) {
    scan(at, from, to, what, (at == level ? "" : not_in(at + 1)) + among, take);
  }
  scan_slots(level - 1, begin_ns, from, what, blocks, take);
  scan_slots(level - 1, to, end_ns, what, blocks, take);
}

void WindowSource::scan_rows_beside(int level, Nanos begin_ns, Nanos end_ns,
                                    const std::string& columns, const TakeRow& take) {
  scan_new_rows(begin_ns, end_ns, columns, take);
  const Nanos from = ceil_to(begin_ns, slot_ns(0));
  const Nanos to = floor_to(end_ns, slot_ns(0));
  if (level < 0 || from >= to) return scan_old_rows(begin_ns, end_ns, columns, take);
  scan_old_rows(begin_ns, from, columns, take);
  scan_old_rows(to, end_ns, columns, take);
}

void WindowSource::scan_new_rows(Nanos begin_ns, Nanos end_ns, const std::string& columns,
                                 const TakeRow& take) {
  reader_.inquiry.scan("SELECT " + columns + " FROM profile_row WHERE rowid > " +
                           std::to_string(done_[0]) + " AND " + begins_within(begin_ns, end_ns),
                       take);
}

void WindowSource::scan_old_rows(Nanos begin_ns, Nanos end_ns, const std::string& columns,
                                 const TakeRow& take) {
  if (begin_ns >= end_ns || done_[0] == 0) return;
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;  // Of rows, after and up to.
  reader_.inquiry.scan(
      "SELECT after_row, upto_row" + spans_within(begin_ns, end_ns) + " ORDER BY after_row",
      [&](std::span<const Value> row) {
        const std::int64_t after = integer_of(row[0]);
        if (runs.empty() || runs.back().second != after) runs.emplace_back(after, after);
        runs.back().second = integer_of(row[1]);
      });
  for (const auto& [after, upto] : runs) {
    reader_.inquiry.scan("SELECT " + columns + " FROM profile_row WHERE rowid > " +
                             std::to_string(after) + " AND rowid <= " + std::to_string(upto) +
                             " AND " + begins_within(begin_ns, end_ns),
                         take);
  }
}

}  // namespace xylem::storage
