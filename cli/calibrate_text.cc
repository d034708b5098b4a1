#include "cli/calibrate_text.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "predict/calibration/target_file.h"
#include "viz/json.h"
#include "viz/reply.h"
#include "viz/text_columns.h"

namespace xylem {
namespace {

using predict::Figure;

std::string number_text(double value) { return fmt::format("{:.4g}", value); }

/// All nanoseconds of a long time, which "1.23 us" would lose.
std::string ns_text(double ns) {
  return ns >= 1000 ? count_text(static_cast<std::uint64_t>(std::llround(ns))) : number_text(ns);
}

std::vector<std::string> row_of(std::string symbol, std::string what, const Figure& of) {
  return {std::move(symbol), std::move(what), ns_text(of.value),
          ns_text(of.low) + " to " + ns_text(of.high)};
}

std::string figures_text(const predict::Calibration& of, bool is_one_host) {
  viz::TextColumns columns({{"", false}, {"figure", false}, {"ns", true}, {"95 % interval", true}});
  columns.add(row_of("L", is_one_host ? "latency of the memory" : "latency", of.latency));
  columns.add(row_of("o", "processor, per message", of.overhead));
  columns.add(row_of("", "  MPI_Send", of.send_overhead));
  columns.add(row_of("", "  MPI_Recv", of.receive_overhead));
  columns.add(row_of("g", "NIC, per message", of.gap));
  columns.add(row_of("G", is_one_host ? "memory, per byte" : "NIC, per byte", of.gap_per_byte));
  columns.add(row_of("O", "processor, per byte", of.overhead_per_byte));
  return columns.text();
}

std::string eager_text(const predict::EagerLimit& of) {
  const std::string returns =
      "  S: sends of up to " + count_text(of.returns) + " bytes return at once";
  return returns + (of.waits == 0 ? "; larger ones were not tried\n"
                                  : ", of " + count_text(of.waits) + " bytes wait\n");
}

std::string checks_text(const std::vector<predict::Check>& checks) {
  if (checks.empty()) return "";
  viz::TextColumns columns(
      {{"bytes", true}, {"measured ns", true}, {"predicted ns", true}, {"error", true}});
  for (const predict::Check& it : checks) {
    columns.add({count_text(it.bytes), ns_text(it.measured_ns), ns_text(it.predicted_ns),
                 percent_text(it.predicted_ns / it.measured_ns - 1)});
  }
  return "  half a round trip, of sizes that the estimate has not used:\n" + columns.text();
}

std::string disk_text(const predict::DiskFigures& of) {
  viz::TextColumns columns({{"disk", false},
                            {"bytes", true},
                            {"value", true},
                            {"95 % interval", true},
                            {"unit", false}});
  for (const auto& it : of.accesses) {
    columns.add({it.what, count_text(it.short_bytes), ns_text(it.latency_ns.value),
                 ns_text(it.latency_ns.low) + " to " + ns_text(it.latency_ns.high), "ns"});
    columns.add({it.what, count_text(it.long_bytes), number_text(it.bytes_per_ns.value),
                 number_text(it.bytes_per_ns.low) + " to " + number_text(it.bytes_per_ns.high),
                 "bytes/ns"});
  }
  return columns.text() +
         (of.is_direct ? "" : "  The file system refuses O_DIRECT: reads may come from memory.\n");
}

void write_figure(viz::Json& json, const char* name, const Figure& of) {
  json.object(name, [&] {
    json.field("value", of.value);
    json.field("low", of.low);
    json.field("high", of.high);
  });
}

}  // namespace

std::string calibration_text(const predict::Calibration& of, const predict::Samples& samples) {
  const bool is_one_host = samples.is_one_host();
  std::string text =
      count_text(of.rounds) + " rounds between " +
      (is_one_host ? "two ranks on " + printable(samples.hosts[0])
                   : printable(samples.hosts[0]) + " and " + printable(samples.hosts[1])) +
      ", with " + printable(samples.library) + "\n";
  text += figures_text(of, is_one_host) + eager_text(of.eager) + checks_text(of.checks);
  if (const auto disk = predict::disk_figures(samples)) text += disk_text(*disk);
  for (const std::string& it : of.doubts) text += "  " + it + ".\n";
  if (is_one_host) {
    text +=
        "  Both ranks were on one host, so this is its memory. A network needs ranks on two "
        "hosts.\n";
  }
  return text;
}

std::string calibration_json(const predict::Calibration& of, const predict::Samples& samples) {
  viz::Json json;
  json.object([&] {
    json.field("version", viz::kApiVersion);
    json.field("view", "calibrate");
    json.field("library", samples.library);
    json.array("hosts", samples.hosts, [&](const std::string& it) { json.value(it); });
    json.field("one_host", samples.is_one_host());
    json.field("cores", samples.cores);
    json.field("rounds", of.rounds);
    write_figure(json, "latency_ns", of.latency);
    write_figure(json, "overhead_ns", of.overhead);
    write_figure(json, "send_overhead_ns", of.send_overhead);
    write_figure(json, "receive_overhead_ns", of.receive_overhead);
    write_figure(json, "gap_ns", of.gap);
    write_figure(json, "gap_per_byte_ns", of.gap_per_byte);
    write_figure(json, "overhead_per_byte_ns", of.overhead_per_byte);
    json.field("eager_bytes", of.eager.returns);
    json.field("waiting_bytes", of.eager.waits == 0 ? std::nullopt : std::optional(of.eager.waits));
    json.array("checks", of.checks, [&](const predict::Check& it) {
      json.object([&] {
        json.field("bytes", it.bytes);
        json.field("measured_ns", it.measured_ns);
        json.field("predicted_ns", it.predicted_ns);
      });
    });
    json.array("doubts", of.doubts, [&](const std::string& it) { json.value(it); });
    const auto disk = predict::disk_figures(samples);
    if (!disk) return;
    json.object("disk", [&] {
      json.field("direct", disk->is_direct);
      for (const auto& it : disk->accesses) {
        json.object(it.what, [&] {
          json.field("short_bytes", it.short_bytes);
          write_figure(json, "latency_ns", it.latency_ns);
          json.field("long_bytes", it.long_bytes);
          write_figure(json, "bytes_per_ns", it.bytes_per_ns);
        });
      }
    });
  });
  return json.take() + '\n';
}

}  // namespace xylem
