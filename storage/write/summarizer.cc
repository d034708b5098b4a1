// A slot is summed up two windows after its end, because later windows are rare. If a later window
// comes, it is summed up with the next slot, as a separate part.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "storage/write/summarizer_internal.h"

namespace xylem::storage {
namespace {

constexpr std::uint64_t kMaxRows = 1u << 17;
/// A run with at most this many rows can be read as quickly without summaries.
constexpr std::uint64_t kFewRows = 4096;
constexpr std::uint64_t kMaxLowerRows = 2048;
/// Maximum number of slots and blocks in a batch. Each takes 40 KB or more.
constexpr std::size_t kMaxSummaries = 512;
/// Number of rows for one entry of window_span. Reading them takes about a millisecond.
constexpr std::int64_t kSpanRows = 8192;
constexpr Nanos kLateWindows = 2;
/// Limit for times, so that extending them to whole slots does not overflow.
constexpr Nanos kMaxNs = std::numeric_limits<Nanos>::max() / 8;

Nanos bounded(std::int64_t ns) { return std::clamp<Nanos>(ns, -kMaxNs, kMaxNs); }

void add_histogram(std::span<const std::byte> bytes, SparseHistogram& histogram) {
  NumberReader in(bytes);
  while (!in.at_end()) {
    const std::uint64_t bucket = in.next();
    const std::uint64_t count = in.next();
    if (in.failed() || bucket >= wire::LogHistogram::kBuckets) return;
    histogram.add(static_cast<std::uint8_t>(bucket), count);
  }
}

}  // namespace

struct Summarizer::Batch {
  Nanos slot_ns = 1;
  std::map<std::pair<Nanos, std::int64_t>, Summary> summaries;  ///< By begin and block.

  Summary& of(Nanos begin_ns, std::int64_t block) {
    const std::pair key{floor_to(begin_ns, slot_ns), block};
    if (last_ == nullptr || key != last_key_) {
      last_ = &summaries[key];
      last_key_ = key;
    }
    return *last_;
  }

 private:
  Summary* last_ = nullptr;
  std::pair<Nanos, std::int64_t> last_key_;
};

Summarizer::Summarizer(Connection& c)
    : connection_(c),
      window_(c, "SELECT window_ns FROM run"),
      done_(c, "SELECT done FROM summary_state WHERE level = ?"),
      set_done_(c, "INSERT OR REPLACE INTO summary_state VALUES(?,?)"),
      rows_(c,
            "SELECT rowid, process, function, begin_ns, calls, time_ns, max_ns, bytes, estimated,"
            " histogram FROM profile_row WHERE rowid > ? ORDER BY rowid LIMIT ?"),
      newest_row_(c, "SELECT begin_ns FROM profile_row ORDER BY rowid DESC LIMIT 1"),
      lower_(c,
             "SELECT id, begin_ns, block, cells, by_process FROM window_summary"
             " WHERE level = ? AND id > ? ORDER BY id LIMIT ?"),
      newest_lower_(c,
                    "SELECT begin_ns FROM window_summary WHERE level = ? ORDER BY begin_ns DESC"
                    " LIMIT 1"),
      waiting_(c, "SELECT id, name, class FROM function ORDER BY id"),
      span_(c, "INSERT INTO window_span VALUES(?,?,?,?)"),
      summary_(c,
               "INSERT INTO window_summary(level, begin_ns, block, cells, functions, by_process)"
               " VALUES(?,?,?,?,?,?)") {
  complete_ns_.fill(kNever);
}

void Summarizer::note_rows(Nanos begin_ns, std::uint64_t rows) {
  pending_rows_ += rows;
  newest_ns_ = std::max(newest_ns_, bounded(begin_ns));
}

bool Summarizer::is_due() const {
  if (is_behind_ || pending_rows_ >= kMaxRows) return true;
  const Nanos slot = window_ns_ * windows_of_cell(1);
  return window_ns_ > 0 && newest_ns_ != kNever &&
         floor_to(newest_ns_ - kLateWindows * window_ns_, slot) > complete_ns_[0];
}

Nanos Summarizer::window_ns() {
  if (window_ns_ == 0 && window_.first()) {
    window_ns_ = std::clamp<Nanos>(window_.integer(0), 0, kMaxNs >> (3 * kSummaryLevels + 3));
    window_.reset();
  }
  return window_ns_;
}

std::int64_t Summarizer::done(int level) {
  if (!done_.first(level)) return 0;
  const std::int64_t done = done_.integer(0);
  done_.reset();
  return done;
}

void Summarizer::read_waiting() {
  waiting_functions_.clear();
  for (bool more = waiting_.first(); more; more = waiting_.next()) {
    if (!is_waiting(waiting_.text(1), waiting_.text(2))) continue;
    waiting_functions_.push_back(FunctionKey{waiting_.integer(0)});
  }
}

void Summarizer::advance(bool is_last) {
  is_behind_ = false;
  if (window_ns() <= 0) return;  // The length of windows is unknown: there are only rows.
  if (!sum_up_rows(is_last)) return;
  for (int level = 1; level < kSummaryLevels; ++level) sum_up_level(level);
}

void Summarizer::forget() {
  connection_.execute(
      "DELETE FROM window_summary; DELETE FROM window_span; DELETE FROM summary_state");
  complete_ns_.fill(kNever);
  is_behind_ = true;
}

// Adds the row that the statement is at, of the window that begins then.
void Summarizer::add_row(Nanos begin, Batch& batch) {
  const ProcessKey process{rows_.integer(1)};
  const std::uint64_t place = place_in_block(process);
  const FunctionKey function{rows_.integer(2)};
  CellSums one;
  one.calls = rows_.count(4);
  one.time_ns = rows_.count(5);
  one.max_ns = rows_.count(6);
  one.max_function = function;
  one.bytes = rows_.count(7);
  one.estimated = rows_.integer(8) != 0;
  if (std::ranges::binary_search(waiting_functions_, function)) one.wait_ns = one.time_ns;
  Summary& summary = batch.of(begin, block_of(process));
  const Nanos in_slot = begin - floor_to(begin, batch.slot_ns);
  summary.cell(place, static_cast<std::uint64_t>(in_slot / window_ns_)).merge(one);
  SlotSums& slot = summary.slot(place, function);
  slot.calls += one.calls;
  slot.time_ns += one.time_ns;
  slot.bytes += one.bytes;
  slot.max_ns = std::max(slot.max_ns, one.max_ns);
  slot.estimated |= one.estimated;
  add_histogram(rows_.blob(9), slot.histogram);
}

bool Summarizer::sum_up_rows(bool is_last) {
  if (newest_row_.first()) {
    newest_ns_ = std::max(newest_ns_, bounded(newest_row_.integer(0)));
    newest_row_.reset();
  }
  if (newest_ns_ == kNever) return false;
  Batch batch;
  batch.slot_ns = window_ns_ * windows_of_cell(1);
  const Nanos complete = floor_to(newest_ns_ - kLateWindows * window_ns_, batch.slot_ns);
  const bool takes_all = is_last || pending_rows_ >= kMaxRows;
  read_waiting();

  const std::int64_t before = done(0);
  if (is_last && before == 0 && pending_rows_ < kFewRows) {
    complete_ns_[0] = std::max(complete_ns_[0], complete);  // Otherwise it would stay due.
    return false;
  }
  std::int64_t upto = before;
  std::int64_t span_after = before;
  std::optional<std::pair<Nanos, Nanos>> span;  // Earliest and latest begin.
  const auto end_span = [&] {
    if (span) span_.run(span_after, upto, span->first, span->second);
    span_after = upto;
    span.reset();
  };
  bool is_cut = false;
  std::uint64_t taken = 0;
  for (bool more = rows_.first(before, kMaxRows); more; more = rows_.next()) {
    const Nanos begin = bounded(rows_.integer(3));
    if ((!takes_all && begin >= complete) || batch.summaries.size() >= kMaxSummaries) {
      is_cut = batch.summaries.size() >= kMaxSummaries;
      rows_.reset();
      break;
    }
    add_row(begin, batch);
    upto = rows_.integer(0);
    if (!span) span = {begin, begin};
    span->first = std::min(span->first, begin);
    span->second = std::max(span->second, begin);
    if (upto - span_after >= kSpanRows) end_span();
    ++taken;
  }
  end_span();
  is_behind_ = is_cut || taken == kMaxRows;
  pending_rows_ -= std::min(pending_rows_, taken);
  complete_ns_[0] = std::max(complete_ns_[0], complete);
  if (taken == 0) return false;
  write(0, batch, upto);
  return true;
}

// Does the same with the rows of the level below. Its slots are the cells of this level.
void Summarizer::sum_up_level(int level) {
  Batch batch;
  batch.slot_ns = window_ns_ * windows_of_cell(level + 1);
  const Nanos cell_ns = window_ns_ * windows_of_cell(level);
  if (!newest_lower_.first(level - 1)) return;
  const Nanos complete = floor_to(newest_lower_.integer(0), batch.slot_ns);
  newest_lower_.reset();
  if (complete <= complete_ns_[level]) return;

  std::int64_t upto = done(level);
  const std::int64_t before = upto;
  std::uint64_t taken = 0;
  for (bool more = lower_.first(level - 1, before, kMaxLowerRows); more; more = lower_.next()) {
    const Nanos begin = lower_.integer(1);
    if (begin >= complete || batch.summaries.size() >= kMaxSummaries) {
      lower_.reset();
      break;
    }
    Summary& summary = batch.of(begin, lower_.integer(2));
    const auto part =
        static_cast<std::uint64_t>((begin - floor_to(begin, batch.slot_ns)) / cell_ns);
    const bool good =
        decode_cells(lower_.blob(3),
                     [&](std::uint64_t place, std::uint64_t, const CellSums& sums) {
                       summary.cell(place, part).merge(sums);
                     }) &&
        decode_by_process(lower_.blob(4),
                          [&](std::uint64_t place, FunctionKey function, const SlotSums& sums) {
                            summary.slot(place, function).merge(sums);
                          });
    if (!good) {
      connection_.fail(Error{Code::kCorrupt, connection_.name() + ": a summary is damaged"});
      return;
    }
    upto = lower_.integer(0);
    ++taken;
  }
  // If a limit was reached, the rest comes with the next batch.
  if (taken < kMaxLowerRows && batch.summaries.size() < kMaxSummaries) {
    complete_ns_[level] = complete;
  }
  if (taken != 0) write(level, batch, upto);
}

void Summarizer::write(int level, const Batch& batch, std::int64_t done) {
  for (const auto& [key, summary] : batch.summaries) {
    summary_.run(level, key.first, key.second, encode_cells(summary), encode_functions(summary),
                 encode_by_process(summary));
  }
  set_done_.run(level, done);
}

}  // namespace xylem::storage
