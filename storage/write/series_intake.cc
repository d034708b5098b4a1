// All numbers of a subject at one time are one row, as JSON text. Any SQLite client can read them
// through the views. A number takes 2 to 8 bytes; a separate row would take 20 (docs/performance.md
// has the measurement).

#include <charconv>
#include <cmath>
#include <utility>

#include "storage/write/series_intake_internal.h"

namespace xylem::storage {
namespace {

/// Returns JSON that SQLite can read by itself: `[0,-3,null,0.25]`.
std::string to_json(const std::vector<double>& numbers) {
  std::string text = "[";
  char digits[32];
  for (const double number : numbers) {
    if (text.size() > 1) text += ',';
    if (std::isnan(number)) {
      text += "null";
    } else if (std::isinf(number)) {
      text += number > 0 ? "9e999" : "-9e999";  // Too large for a double: SQLite reads infinity.
    } else {
      const auto end = std::to_chars(digits, std::end(digits), number).ptr;
      text.append(digits, end);
    }
  }
  return text += ']';
}

}  // namespace

SeriesIntake::SeriesIntake(Connection& connection)
    : seen_(connection, "series_seen", "service"),
      find_(connection, "SELECT id FROM service WHERE leaf = ? AND lane = ?"),
      new_(connection, "INSERT INTO service(leaf, lane) VALUES(?,?) RETURNING id"),
      name_(connection, "UPDATE service SET name = ?2 WHERE id = ?1"),
      has_layout_(connection, "SELECT 1 FROM series_metric WHERE layout = ? LIMIT 1"),
      metric_(connection,
              "INSERT OR IGNORE INTO series_metric(layout, name, position, unit, scale, per_second,"
              " service) VALUES(?,?,?,?,?,?,?)"),
      row_(connection,
           "INSERT INTO series_row(service, lane, at_ns, span_ns, slice, layout, numbers)"
           " VALUES(?,?,?,?,?,?,?)"),
      stored_(connection,
              "UPDATE service SET stored = stored + 1, captured = max(captured, ?2) WHERE id = ?1"),
      lost_(connection,
            "UPDATE service SET lost = lost + ?2, captured = max(captured, ?3) WHERE id = ?1"),
      given_up_(connection,
                "INSERT INTO given_up(stream, sources, leaf, service, wave, wave_end, calls, "
                "reason) VALUES(?,?,?,?,?,?,?,?)"),
      ended_(connection, "UPDATE service SET ended = 1 WHERE leaf >= ? AND leaf < ?") {}

std::int64_t SeriesIntake::service_of(LeafId leaf, Lane lane) {
  for (Statement* statement : {&find_, &new_}) {
    if (!statement->first(leaf, lane)) continue;
    const std::int64_t id = statement->integer(0);
    statement->reset();
    return id;
  }
  return 0;  // The connection has failed.
}

void SeriesIntake::put_names(LeafId leaf, const wire::Registration& registration) {
  for (const wire::ServiceRow& row : registration.services) {
    name_.run(service_of(leaf, row.lane), row.name);
  }
  for (const wire::SeriesLayout& layout : registration.layouts) put_layout(layout);
}

void SeriesIntake::put_layout(const wire::SeriesLayout& layout) {
  const auto key = static_cast<std::int64_t>(wire::key_of(layout));
  const bool known = has_layout_.first(key);
  has_layout_.reset();
  if (known) return;
  std::int64_t position = 0;
  for (const wire::MetricRow& row : layout.rows) {
    metric_.run(key, row.name, position++, row.unit, row.scale, row.per_second, layout.service);
  }
}

PutOutcome SeriesIntake::put(const wire::Packet& packet) {
  const wire::PacketId& id = packet.id;
  const LeafId leaf{static_cast<std::uint32_t>(id.sources.intervals().front().first)};
  const std::int64_t service = service_of(leaf, id.lane);
  const IntervalSet near = seen_.near(service, id.wave, id.wave_end);
  PutOutcome outcome = judge_range(id, near);
  if (outcome.kind != PutOutcome::Kind::kStored) return outcome;
  seen_.insert(service, id.wave, id.wave_end, near);

  const Content content = open_payload(packet);
  if (const auto* sample = std::get_if<wire::SeriesSample>(&content)) {
    put_sample(service, *sample);
    return outcome;
  }
  const auto* tombstone = std::get_if<wire::Tombstone>(&content);
  const std::string& reason = tombstone ? tombstone->reason : std::get<Defect>(content).reason;
  const std::uint64_t samples = id.wave_end - id.wave;
  given_up_.run(id.stream, id.sources.to_string(), leaf, service, id.wave, id.wave_end, samples,
                reason);
  lost_.run(service, samples, id.wave_end);
  return outcome;
}

void SeriesIntake::put_sample(std::int64_t service, const wire::SeriesSample& sample) {
  const auto layout = static_cast<std::int64_t>(sample.layout);
  for (const wire::SeriesEntry& entry : sample.entries) {
    row_.run(service, entry.lane, sample.at_ns, sample.span_ns, sample.slice, layout,
             to_json(entry.numbers));
  }
  stored_.run(service, sample.captured);
}

void SeriesIntake::note_ended(const IntervalSet& leaves) {
  for (const auto& run : leaves.intervals()) ended_.run(run.first, run.end);
}

}  // namespace xylem::storage
