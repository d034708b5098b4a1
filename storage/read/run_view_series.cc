// Series of hosts and ranks. A sample is one row with about 400 numbers as JSON text, and a series
// needs one of them. The text is searched here, which takes a tenth of the time of json_extract. An
// hour of a hundred hosts has 360000 samples, half a gigabyte. If there are too many samples, only
// one in each interval is read, with the help of the index, and the answer says so. Facts of hosts
// are rows with one number, and are read in the same way.

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "storage/read/run_view_internal.h"

namespace xylem::storage {
namespace {

/// Number of samples that can be read in about 50 ms.
constexpr std::uint64_t kMaxSamples = 1u << 14;
constexpr Nanos kEver = std::numeric_limits<Nanos>::max();

/// The lines of series with their owners. The key is the leaf or the rank in their rows.
using LineOwners = std::map<std::int64_t, SeriesTable::Line>;

LineOwners line_owners(ViewReader& reader, const SeriesQuery& query) {
  const bool of_ranks = query.world.has_value();
  std::string sql = "SELECT h.leaf, h.name, NULL FROM host h";
  if (of_ranks) {
    sql =
        "SELECT p.leaf, h.name, p.rank FROM process p LEFT JOIN host h ON h.leaf = p.leaf"
        " WHERE p.rank IS NOT NULL AND p.world = " +
        std::to_string(raw(*query.world));
  }
  LineOwners owners;
  for (const auto& row : reader.inquiry.ask(sql)) {
    SeriesTable::Line line{id_of<LeafId>(row[0]), text_of(row[1]), {}, {}};
    if (of_ranks) line.rank = id_of<Rank>(row[2]);
    owners.emplace(integer_of(row[of_ranks ? 2 : 0]), std::move(line));
  }
  return owners;
}

/// The position and the unit of the number in samples of a layout.
struct Meaning {
  std::int64_t position = 0;
  double scale = 1;
  bool per_second = false;
};

/// Returns the number at a position of "[0,-3,null,0.25]", as series_intake.cc writes it; nullopt
/// for null, for a missing position and for text.
std::optional<double> number_at(std::string_view numbers, std::int64_t position) {
  std::size_t at = 1;
  for (; position > 0; --position) {
    at = numbers.find(',', at);
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
  }
  double number = 0;
  const auto read = std::from_chars(numbers.data() + at, numbers.data() + numbers.size(), number);
  if (read.ec == std::errc::result_out_of_range) {
    const double beyond = std::numeric_limits<double>::infinity();
    return numbers[at] == '-' ? -beyond : beyond;
  }
  if (read.ec != std::errc()) return std::nullopt;
  return number;
}

/// One answer in the making.
class SeriesReader {
 public:
  SeriesReader(ViewReader& reader, const SeriesQuery& query, SeriesTable& series)
      : reader_(reader), query_(query), series_(series) {}

  void read() {
    series_.name = query_.name;
    series_.is_of_ranks = query_.world.has_value();
    slots_ = reader_.slots(query_.range, query_.columns, 1);
    if (series_.is_of_ranks) reader_.read_world(*query_.world);
    if (!reader_.check("most", query_.limit, kMaxLines) || !reader_.ok()) return;
    series_.slot_ns = slots_.slot_ns;
    times_ = " AND at_ns >= " + std::to_string(slots_.begin_ns);
    // In a live run, samples may be newer than all other data. They are in the last slot.
    if (query_.range.end_ns) times_ += " AND at_ns < " + std::to_string(slots_.end_ns);
    if (!series_.is_of_ranks) read_facts();
    if (reader_.has_services()) read_samples();
    finish();
  }

 private:
  struct Sums {
    double min = 0, max = 0, sum = 0;
    std::uint64_t samples = 0;
  };

  void take(std::int64_t owner, Nanos at_ns, double value) {
    const std::uint64_t last = std::max<std::uint64_t>(slots_.count, 1) - 1;
    Sums& at = lines_[owner][std::min(slots_.of(at_ns), last)];
    at.min = at.samples == 0 ? value : std::min(at.min, value);
    at.max = at.samples == 0 ? value : std::max(at.max, value);
    at.sum += value;
    ++at.samples;
  }

  /// A table of rows with times, and the owners of the rows.
  struct Source {
    std::string table;
    std::string subjects;          ///< SQL: owner and key of its rows.
    std::string (*key)(char row);  ///< SQL: condition for the rows of a subject.
  };

  void read_facts() {
    const auto take_fact = [this](std::span<const Value> row) {
      if (!is_null(row[2])) take(integer_of(row[0]), time_of(row[1]), real_of(row[2]));
    };
    const std::string name = sql_quoted(query_.name);
    const std::string leaf =
        query_.leaf ? " AND leaf = " + std::to_string(raw(*query_.leaf)) : std::string();
    if (!reader_.inquiry.has_table(kHostValueIndex)) {
      return reader_.inquiry.scan("SELECT leaf, at_ns, value FROM " + reader_.host_values() +
                                      " WHERE name = " + name + times_ + leaf,
                                  take_fact);
    }
    read({"host_value", "SELECT leaf AS owner, " + name + " AS name FROM host WHERE 1" + leaf,
          [](char row) {
            return std::string(1, row) + ".leaf = u.owner AND " + row + ".name = u.name";
          }},
         "s.value", take_fact);
  }

  /// SQL for the owners whose samples may have the number: owner, service, lane.
  std::string subjects() const {
    std::string sql;
    if (series_.is_of_ranks) {
      sql =
          "SELECT p.rank AS owner, v.id AS service, p.lane AS lane FROM process p CROSS JOIN"
          " service v ON v.leaf = p.leaf WHERE p.lane <> 0 AND p.world = " +
          std::to_string(raw(*query_.world));
      if (query_.rank) sql += " AND p.rank = " + std::to_string(raw(*query_.rank));
    } else {
      sql = "SELECT v.leaf AS owner, v.id AS service, 0 AS lane FROM service v WHERE 1";
    }
    if (query_.leaf) sql += " AND v.leaf = " + std::to_string(raw(*query_.leaf));
    return sql +
           " AND (v.name IS NULL OR v.name IN (SELECT service FROM series_metric WHERE name = " +
           sql_quoted(query_.name) + "))";
  }

  /// Leaves out owners that will have no line, and counts them. Sets `shown` to the number of
  /// others.
  std::string shown_subjects(const Source& source, std::size_t& shown) {
    std::set<std::int64_t> owners;
    for (const auto& row : reader_.inquiry.ask("SELECT DISTINCT owner FROM (" + source.subjects +
                                               ") u WHERE EXISTS (SELECT 1 FROM " + source.table +
                                               " s WHERE " + source.key('s') + times_ + ")")) {
      owners.insert(integer_of(row[0]));
    }
    shown = std::min<std::size_t>(owners.size(), query_.limit);
    if (owners.size() == shown) return source.subjects;
    unread_ += owners.size() - shown;
    const auto last = std::next(owners.begin(), static_cast<std::ptrdiff_t>(shown) - 1);
    return "SELECT * FROM (" + source.subjects + ") WHERE owner <= " + std::to_string(*last);
  }

  /// Calls `take` with owner, time and `columns` of all rows, or of one row in each interval.
  template <typename Take>
  void read(const Source& source, const std::string& columns, Take take) {
    std::size_t owners = 0;
    const std::string shown = shown_subjects(source, owners);
    if (owners == 0) return;
    const std::string each =
        "(" + shown + ") u CROSS JOIN " + source.table + " s ON " + source.key('s') + times_;
    const auto samples =
        count_of(reader_.inquiry.ask_one("SELECT count(*) FROM (SELECT 1 FROM " + each + " LIMIT " +
                                             std::to_string(kMaxSamples + 1) + ")",
                                         1)[0]);
    reader_.inquiry.scan("SELECT u.owner, s.at_ns, " + columns + " FROM " +
                             (samples > kMaxSamples ? looks(source, shown, owners) : each),
                         take);
  }

  void read_samples() {
    for (const auto& row : reader_.inquiry.ask(
             "SELECT layout, position, scale, per_second FROM series_metric WHERE name = " +
             sql_quoted(query_.name))) {
      meanings_[integer_of(row[0])] = {integer_of(row[1]), real_of(row[2]),
                                       integer_of(row[3]) != 0};
    }
    if (meanings_.empty()) return;
    read({"series_row", subjects(),
          [](char row) {
            return std::string(1, row) + ".service = u.service AND " + row + ".lane = u.lane";
          }},
         "s.span_ns, s.layout, s.numbers",
         [this](std::span<const Value> row) { take_sample(row); });
  }

  /// SQL for the first sample of each interval. A slot has as many intervals as the limit allows,
  /// but at least one.
  std::string looks(const Source& source, const std::string& shown, std::size_t owners) {
    const std::uint64_t parts =
        std::clamp<std::uint64_t>(kMaxSamples / std::max<std::uint64_t>(owners * slots_.count, 1),
                                  1, static_cast<std::uint64_t>(slots_.slot_ns));
    const Nanos look_ns = slots_.slot_ns / static_cast<Nanos>(parts);
    series_.look_ns = std::max(series_.look_ns, look_ns);
    const std::string step = std::to_string(look_ns);
    const std::string end = std::to_string(slots_.end_ns);
    // The last interval ends with the range. If the range has no end, it has all newer samples.
    const std::string last = query_.range.end_ns ? end : std::to_string(kEver);
    return "(" + shown + ") u CROSS JOIN (WITH RECURSIVE look(at) AS (VALUES(" +
           std::to_string(slots_.begin_ns) + ") UNION ALL SELECT at + " + step +
           " FROM look WHERE at + " + step + " < " + end + ") SELECT at FROM look) l CROSS JOIN " +
           source.table + " s ON s.rowid = (SELECT r.rowid FROM " + source.table + " r WHERE " +
           source.key('r') + " AND r.at_ns >= l.at AND r.at_ns < iif(l.at + " + step + " < " + end +
           ", l.at + " + step + ", " + last + ") ORDER BY r.at_ns LIMIT 1)";
  }

  void take_sample(std::span<const Value> row) {
    const auto meaning = meanings_.find(integer_of(row[3]));
    const auto* numbers = std::get_if<std::string>(&row[4]);
    if (meaning == meanings_.end() || numbers == nullptr) return;
    if (!numbers->starts_with('[')) {
      return reader_.fail(Code::kCorrupt, "a sample of a service is damaged: it is not a list");
    }
    const auto [position, scale, per_second] = meaning->second;
    const std::optional<double> number = number_at(*numbers, position);
    if (!number) return;
    const Nanos span = time_of(row[2]);
    if (per_second && span == 0) return;  // As in SQL: a division by zero gives NULL.
    const double value = *number * scale;
    take(integer_of(row[0]), time_of(row[1]),
         per_second ? value * kSecond / static_cast<double>(span) : value);
  }

  void finish() {
    LineOwners owners = line_owners(reader_, query_);
    series_.lines_in_all = lines_.size() + unread_;
    for (const auto& [owner, sums] : lines_) {
      if (series_.lines.size() == query_.limit) break;
      SeriesTable::Line line = std::move(owners[owner]);
      if (!series_.is_of_ranks) line.leaf = LeafId{static_cast<std::uint32_t>(owner)};
      for (const auto& [slot, at] : sums) {
        line.points.push_back(
            {slot, at.min, at.sum / static_cast<double>(at.samples), at.max, at.samples});
      }
      series_.lines.push_back(std::move(line));
    }
  }

  ViewReader& reader_;
  const SeriesQuery& query_;
  SeriesTable& series_;
  Slots slots_;
  std::string times_;
  std::map<std::int64_t, Meaning> meanings_;
  std::map<std::int64_t, std::map<std::uint64_t, Sums>> lines_;
  std::size_t unread_ = 0;  ///< Number of owners whose samples are not read: too many.
};

}  // namespace

Result<SeriesTable> RunView::series(const SeriesQuery& query) {
  return answer_of<SeriesTable>(*run_, [&query](ViewReader& reader, SeriesTable& series) {
    SeriesReader(reader, query, series).read();
  });
}

}  // namespace xylem::storage
