#include "viz/answers.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "viz/json.h"
#include "viz/reply.h"
#include "viz/report_json.h"

namespace xylem::viz {
namespace {

using namespace storage;

constexpr std::array<const char*, 4> kRankValues = {"mpi", "wait", "bytes", "calls"};
constexpr std::array<const char*, 4> kRankUnits = {"ns", "ns", "bytes", "calls"};
constexpr std::array<const char*, 3> kDetails = {"windows", "densities", "calls"};

/// Writes the fields with which each answer begins, then calls `inside`.
template <typename Inside>
std::string answer(const char* view, const Scope& scope, Inside inside) {
  Json json;
  json.object([&] {
    json.field("version", kApiVersion);
    json.field("view", view);
    json.object("scope", [&] {
      json.field("begin_ns", scope.begin_ns);
      json.field("end_ns", scope.end_ns);
      json.field("run_begin_ns", scope.run_begin_ns);
      json.field("run_end_ns", scope.run_end_ns);
      json.field("has_ended", scope.has_ended);
      json.field("estimated", scope.estimated);
      json.field("lost_calls", scope.lost_calls);
      json.field("incomplete_ranks", scope.incomplete_ranks);
    });
    inside(json);
  });
  return json.take();
}

/// A number as JSON with so many digits, rounded half up, and an exponent; whole where it is one
/// digit longer, for an exponent would be no shorter than the digit.
std::string rounded(std::uint64_t number, std::uint64_t digits) {
  std::string text = std::to_string(number);
  if (digits == 0 || text.size() < digits + 2) return text;
  const std::size_t left_out = text.size() - digits;
  const bool rounds_up = text[digits] >= '5';
  const std::uint64_t kept = std::stoull(text.substr(0, digits)) + (rounds_up ? 1 : 0);
  return std::to_string(kept) + 'e' + std::to_string(left_out);
}

double rounded(double number, std::uint64_t digits) {
  if (digits == 0 || digits > 17 || !std::isfinite(number)) return number;
  std::array<char, 40> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), number,
                                     std::chars_format::scientific, static_cast<int>(digits) - 1);
  double read = number;
  std::from_chars(text.data(), written.ptr, read);
  return read;
}

/// Writes equal neighbours as [count, number], since most slots of a row are equal.
template <typename Number>
void write_runs(Json& json, const char* name, std::span<const Number> numbers) {
  std::vector<std::array<std::uint64_t, 2>> runs;
  for (const std::uint64_t number : numbers) {
    if (runs.empty() || runs.back()[1] != number) runs.push_back({0, number});
    ++runs.back()[0];
  }
  json.array(name, runs, [&](const std::array<std::uint64_t, 2>& run) {
    json.array(run, [&](std::uint64_t number) { json.value(number); });
  });
}

void write_grid(Json& json, const RankGrid& grid, RankValue value, std::uint64_t digits) {
  const auto which = static_cast<std::size_t>(value);
  json.field("value", kRankValues[which]);
  json.field("unit", kRankUnits[which]);
  json.field("world_size", grid.world_size);
  json.field("slot_ns", grid.slot_ns);
  json.field("columns", grid.columns);
  if (!grid.dominant.empty()) {
    json.array("classes", grid.classes, [&](const std::string& name) { json.value(name); });
  }
  std::size_t row_number = 0;
  json.array("rows", grid.rows, [&](const RankGrid::Row& row) {
    json.object([&] {
      json.field("first_rank", row.first_rank);
      json.field("ranks", row.ranks);
      json.field("host", row.host);
      json.field("total", row.total);
      const std::size_t first = row_number++ * grid.columns;
      json.array("cells", std::span(grid.cells).subspan(first, grid.columns),
                 [&](std::uint64_t cell) { json.written(rounded(cell, digits)); });
      if (grid.watched.empty()) return;
      json.field("watched_ns", row.watched_ns);
      write_runs<std::uint64_t>(json, "watched",
                                std::span(grid.watched).subspan(first, grid.columns));
      if (grid.dominant.empty()) return;
      write_runs<std::uint8_t>(json, "dominant",
                               std::span(grid.dominant).subspan(first, grid.columns));
    });
  });
}

void write_link(Json& json, const TreeReport::Link& link) {
  json.object("link", [&] {
    json.field("at_ns", link.at_ns);
    json.field("queue_bytes", link.queue_bytes);
    json.field("refused", link.refused);
    json.field("transport", link.transport);
    json.field("round_trip_ns", link.round_trip_ns);
    json.field("packets_per_s", link.packets_per_s);
    json.field("bytes_per_s", link.bytes_per_s);
  });
}

void write_call(Json& json, const Timeline::Call& call) {
  json.object([&] {
    json.field("rank", call.rank);
    json.field("thread", call.thread);
    json.field("begin_ns", call.begin_ns);
    json.field("end_ns", call.end_ns);
    json.field("function", call.function);
    json.field("class", call.function_class);
    json.field("peer", call.peer);
    json.field("tag", call.tag);
    json.field("comm", call.comm);
    json.field("bytes", call.bytes);
    json.field("calls", call.calls);
    json.field("estimated", call.estimated);
    if (call.number) json.field("number", *call.number);
    if (call.is_open) json.field("is_open", true);
    if (call.has_ended) json.field("has_ended", true);
    if (call.is_host_lost) json.field("host_lost", true);
  });
}

}  // namespace

std::string to_json(const Overview& overview) {
  return answer("overview", overview.scope, [&](Json& json) {
    json.field("window_ns", overview.window_ns);
    json.field("calls_per_s", overview.calls_per_s);
    write_report(json, overview.report);
    write_wait_summary(json, overview.report.wait_states);
  });
}

std::string to_json(const RunFindings& findings) {
  return answer("findings", findings.scope,
                [&](Json& json) { write_findings(json, findings.found); });
}

std::string to_json(const RankGrid& grid, RankValue value, std::uint64_t digits) {
  return answer("ranks", grid.scope, [&](Json& json) { write_grid(json, grid, value, digits); });
}

std::string to_json(const FunctionTable& table) {
  return answer("functions", table.scope, [&](Json& json) {
    json.field("mpi_ns", table.mpi_ns);
    json.field("slot_ns", table.slot_ns);
    json.field("functions_in_all", table.functions_in_all);
    json.array("functions", table.functions, [&](const FunctionTable::Function& function) {
      json.object([&] {
        json.field("function", function.name);
        json.field("class", function.function_class);
        json.field("calls", function.calls);
        json.field("time_ns", function.time_ns);
        json.field("max_ns", function.max_ns);
        json.field("bytes", function.bytes);
        json.field("ranks", function.ranks);
        json.field("estimated", function.estimated);
        json.array("series_ns", function.series_ns, [&](std::uint64_t ns) { json.value(ns); });
        json.array("distribution", function.distribution, [&](const auto& bucket) {
          json.object([&] {
            json.field("below_ns", bucket.first);
            json.field("calls", bucket.second);
          });
        });
      });
    });
  });
}

std::string to_json(const Matrix& matrix, MatrixValue value) {
  const bool waits = value == MatrixValue::kWaits;
  return answer("matrix", matrix.scope, [&](Json& json) {
    json.field("value", waits ? "waits" : "messages");
    json.field("unit", waits ? "ns" : "bytes");
    json.field("world_size", matrix.world_size);
    json.field("first_row", matrix.first_row);
    json.field("end_row", matrix.end_row);
    json.field("first_column", matrix.first_column);
    json.field("end_column", matrix.end_column);
    json.field("block", matrix.block);
    json.field("lost_messages", matrix.lost_messages);
    json.field("lost_bytes", matrix.lost_bytes);
    // Row, column, count, amount. There are many cells, so they have no names.
    json.array("cells", matrix.cells, [&](const Matrix::Cell& cell) {
      const std::array numbers = {cell.row, cell.column, cell.count, cell.amount};
      json.array(numbers, [&](std::uint64_t number) { json.value(number); });
    });
  });
}

std::string to_json(const Timeline& timeline, std::uint64_t digits) {
  return answer("timeline", timeline.scope, [&](Json& json) {
    json.field("detail", kDetails[static_cast<std::size_t>(timeline.detail)]);
    json.field("reason", timeline.reason);
    json.field("too_many", timeline.too_many);
    json.field("calls_in_all", timeline.calls_in_all);
    json.array("calls", timeline.calls,
               [&](const Timeline::Call& call) { write_call(json, call); });
    json.field("messages_in_all", timeline.messages_in_all);
    json.field("unpaired", timeline.unpaired);
    json.field("backwards", timeline.backwards);
    json.array("messages", timeline.messages, [&](const Timeline::Message& message) {
      json.object([&] {
        json.field("source", message.source);
        json.field("destination", message.destination);
        json.field("sent_ns", message.sent_ns);
        json.field("received_ns", message.received_ns);
        json.field("bytes", message.bytes);
        json.field("tag", message.tag);
        json.field("comm", message.comm);
      });
    });
    json.array("longest", timeline.longest, [&](const Timeline::LongCall& call) {
      json.object([&] {
        json.field("rank", call.rank);
        json.field("function", call.function);
        json.field("duration_ns", call.duration_ns);
        json.field("begin_ns", call.begin_ns);
        json.field("end_ns", call.end_ns);
      });
    });
    json.object("windows", [&] { write_grid(json, timeline.grid, RankValue::kMpi, digits); });
    if (timeline.detail != TimelineDetail::kDensities) return;
    json.object("densities",
                [&] { write_grid(json, timeline.densities, RankValue::kMpi, digits); });
  });
}

std::string to_json(const CallSearch& search) {
  return answer("search", search.scope, [&](Json& json) {
    json.field("searched_begin_ns", search.searched_begin_ns);
    json.field("searched_end_ns", search.searched_end_ns);
    json.field("is_cut", search.is_cut);
    json.array("calls", search.calls, [&](const Timeline::Call& call) { write_call(json, call); });
  });
}

std::string to_json(const UnderWay& under_way) {
  return answer("under_way", under_way.scope, [&](Json& json) {
    json.field("calls_in_all", under_way.calls_in_all);
    json.array("calls", under_way.calls,
               [&](const CallUnderWay& call) { write_call_under_way(json, call); });
  });
}

std::string to_json(const HostTable& table) {
  return answer("hosts", table.scope, [&](Json& json) {
    json.array("series", table.series, [&](const auto& name) { json.value(name); });
    json.array("rank_series", table.rank_series, [&](const auto& name) { json.value(name); });
    json.array("hosts", table.hosts, [&](const HostTable::Host& host) {
      json.object([&] {
        json.field("leaf", host.leaf);
        json.field("host", host.name);
        json.field("lost_reason", host.lost_reason);
        json.field("ranks", host.ranks);
        json.field("clock_error_ns", host.clock_error_ns);
        json.object("newest", [&] {
          for (const auto& [name, value] : host.newest) json.field(name, value);
        });
      });
    });
  });
}

std::string to_json(const SeriesTable& series, std::uint64_t digits) {
  return answer("series", series.scope, [&](Json& json) {
    json.field("name", series.name);
    json.field("slot_ns", series.slot_ns);
    if (series.look_ns != 0) json.field("look_ns", series.look_ns);
    json.field(series.is_of_ranks ? "ranks_in_all" : "hosts_in_all", series.lines_in_all);
    json.array("lines", series.lines, [&](const SeriesTable::Line& line) {
      json.object([&] {
        if (line.rank) json.field("rank", *line.rank);
        json.field("leaf", line.leaf);
        json.field("host", line.host);
        json.array("points", line.points, [&](const SeriesTable::Point& point) {
          json.object([&] {
            json.field("slot", point.slot);
            json.field("min", rounded(point.min, digits));
            json.field("mean", rounded(point.mean, digits));
            json.field("max", rounded(point.max, digits));
            json.field("samples", point.samples);
          });
        });
      });
    });
  });
}

std::string to_json(const TreeSnapshot& tree) {
  return answer("tree", tree.scope, [&](Json& json) {
    const TreeReport& report = tree.report;
    json.field("at_ns", report.at_ns);
    json.array("nodes", report.nodes, [&](const TreeReport::Node& node) {
      json.object([&] {
        json.field("id", node.id);
        json.field("role", node.role);
        json.field("host", node.host);
        json.field("state", node.state);
        json.field("parent", node.parent);
        json.field("level", node.level);
        json.field("ranks", node.ranks);
        json.field("silent_ns", node.silent_ns);
        json.field("reason", node.reason.empty() ? std::nullopt : std::optional(node.reason));
        if (!node.facts.empty()) {
          json.object("facts", [&] {
            for (const auto& [name, value] : node.facts) json.field(name, value);
          });
        }
        if (node.link) write_link(json, *node.link);
      });
    });
  });
}

std::string to_json(const Notices& notices) {
  return answer("notices", notices.scope, [&](Json& json) {
    json.field("notices_in_all", notices.notices_in_all);
    json.array("notices", notices.notices, [&](const Notices::Notice& notice) {
      json.object([&] {
        json.field("at_ns", notice.at_ns);
        json.field("host", notice.host);
        json.field("role", notice.role);
        json.field("level", notice.level);
        json.field("text", notice.text);
        json.field("dropped", notice.dropped);
      });
    });
  });
}

std::string to_json(const Waits& waits) {
  return answer("waits", waits.scope, [&](Json& json) { write_wait_summary(json, waits.summary); });
}

std::string to_json(const CallSites& sites) {
  return answer("call_sites", sites.scope, [&](Json& json) {
    json.field("mpi_ns", sites.mpi_ns);
    write_call_sites(json, sites.sites, sites.sites_in_all, sites.fault);
  });
}

std::string to_json(const Alerts& alerts) {
  return answer("alerts", alerts.scope, [&](Json& json) {
    json.field("alerts_in_all", alerts.alerts_in_all);
    json.field("open", alerts.open);
    json.array("alerts", alerts.alerts, [&](const Alert& alert) { write_alert(json, alert); });
  });
}

}  // namespace xylem::viz
