#include <algorithm>
#include <utility>

#include "base/saturating.h"
#include "storage/read/watched_internal.h"

namespace xylem::storage {
namespace {

/// Usually a window is stored at most this long after its end.
constexpr Nanos kWindowsAreBehind = 2 * kSecond;

// Returns the time up to which windows are stored, as far as is known. While no rank calls MPI
// there are no windows. Then the samples of the links show how the time passes.
Nanos newest_time(Inquiry& inquiry) {
  const auto row = inquiry.ask_one(
      "SELECT (SELECT max(last_ns) FROM process), (SELECT max(at_ns) FROM link),"
      " (SELECT max(ended_ns - started_ns) FROM run)",
      3);
  return std::max<Nanos>(
      {0, time_of(row[0]), time_of(row[1]) - kWindowsAreBehind, time_of(row[2])});
}

}  // namespace

std::uint64_t Watched::time_ns() const {
  if (end_ns <= begin_ns) return 0;
  return static_cast<std::uint64_t>(
      saturating_multiply(saturating_subtract(end_ns, begin_ns), static_cast<Nanos>(threads)));
}

WatchedColumns::WatchedColumns(Inquiry& inquiry) {
  // Chunks have an index by process and begin.
  const std::string has_all = "p.events > 0 AND p.stored_events = p.events";
  const std::string begin =
      "CASE WHEN " + has_all +
      " THEN (SELECT min(c.begin_ns) FROM event_chunk c WHERE c.process = p.id)"
      " ELSE p.first_ns END";
  const std::string end = "CASE WHEN " + has_all +
                          " THEN (SELECT c.end_ns FROM event_chunk c WHERE c.process = p.id"
                          " ORDER BY c.begin_ns DESC LIMIT 1) ELSE p.last_ns END";
  if (!inquiry.has_column("process", "since_ns")) {
    sql_ = begin + ", " + end + ", 1";
    return;
  }
  // Nobody knows what the ranks of a lost host did after its last report.
  const std::string heard =
      "(SELECT (SELECT coalesce(max(q.last_ns), p.since_ns) FROM process q WHERE q.leaf = p.leaf)"
      " FROM host h WHERE h.leaf = p.leaf AND h.lost_reason IS NOT NULL)";
  // So a rank that is in a call all the time has exactly the share 1.
  const std::string in_call =
      "(SELECT max(u.at_ns) FROM call_under_way u WHERE u.process = p.id AND u.at_ns >= p.last_ns)";
  sql_ = "CASE WHEN p.since_ns IS NULL THEN " + begin +
         " ELSE p.since_ns END, CASE WHEN p.since_ns IS NULL THEN " + end +
         " ELSE coalesce(p.until_ns, " + heard + ", " + in_call + ", " +
         std::to_string(newest_time(inquiry)) + ") END, p.threads";
}

Watched WatchedColumns::read(std::span<const Value> columns) {
  constexpr std::uint64_t kMaxThreads = 1u << 16;  // A file may contain any number.
  return {time_of(columns[0]), time_of(columns[1]),
          std::clamp<std::uint64_t>(count_of(columns[2]), 1, kMaxThreads)};
}

void WatchedGrid::add(std::size_t row, const Watched& watched) {
  const Nanos begin = std::max(watched.begin_ns, slots_.begin_ns);
  const Nanos end = std::min(watched.end_ns, slots_.end_ns);
  if (begin >= end) return;
  const auto begin_of = [this](std::uint64_t slot) {
    return slots_.begin_ns + static_cast<Nanos>(slot) * slots_.slot_ns;
  };
  const auto amount = [&watched](Nanos length) {
    return static_cast<std::uint64_t>(length) * watched.threads;
  };
  const std::uint64_t first = slots_.of(begin), last = slots_.of(end - 1);
  const std::span cells = std::span(cells_).subspan(row * slots_.count, slots_.count);
  if (first == last) {
    cells[first] += amount(end - begin);
    return;
  }
  cells[first] += amount(begin_of(first + 1) - begin);
  cells[last] += amount(end - begin_of(last));
  const std::span full = std::span(full_).subspan(row * slots_.count, slots_.count);
  full[first + 1] += amount(slots_.slot_ns);
  full[last] -= amount(slots_.slot_ns);
}

std::vector<std::uint64_t> WatchedGrid::take() {
  std::uint64_t now = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    now = i % slots_.count == 0 ? full_[i] : now + full_[i];
    cells_[i] += now;
  }
  return std::move(cells_);
}

}  // namespace xylem::storage
