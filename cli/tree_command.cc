#include "cli/tree_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/config.h"
#include "base/printable_text.h"
#include "cli/exit_code.h"
#include "cli/known_runs.h"
#include "cli/query_command.h"
#include "cli/tree_text.h"
#include "storage/read/query.h"
#include "storage/read/tree_report.h"
#include "viz/reply.h"

namespace xylem {
namespace {

using storage::TreeReport;
using storage::Value;

// Moves the cursor to the upper left corner and clears the screen below.
constexpr const char* kClearScreen = "\033[H\033[J";

template <typename T>
Value value_of(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (std::is_same_v<T, double>) {
    return *value;
  } else {
    return static_cast<std::int64_t>(*value);
  }
}

using Row = std::array<Value, 23>;

const std::array<std::string, 23>& column_names() {
  static const std::array<std::string, 23> kNames = {"id",
                                                     "role",
                                                     "host",
                                                     "parent",
                                                     "level",
                                                     "state",
                                                     "ranks",
                                                     "silent_ns",
                                                     "reported_ns",
                                                     "packets_per_s",
                                                     "bytes_per_s",
                                                     "queue_bytes",
                                                     "round_trip_ns",
                                                     "refused",
                                                     "transport",
                                                     "at_ns",
                                                     "reason",
                                                     "cores",
                                                     "idle_share",
                                                     "run_queue_per_core",
                                                     "memory_gib",
                                                     "network_gbit_per_s",
                                                     "host_round_trip_us"};
  return kNames;
}

Row row_of(const TreeReport& report, const TreeReport::Node& node) {
  const TreeReport::Link link = node.link.value_or(TreeReport::Link{});
  const auto count = [&](std::uint64_t value) {
    return node.link ? Value(static_cast<std::int64_t>(value)) : Value();
  };
  const auto fact = [&](const char* name) {
    const auto known = node.facts.find(name);
    return known == node.facts.end() ? Value() : Value(known->second);
  };
  return {static_cast<std::int64_t>(raw(node.id)),
          node.role,
          node.host,
          value_of(node.parent),
          node.level,
          node.state,
          static_cast<std::int64_t>(node.ranks),
          value_of(node.silent_ns),
          count(static_cast<std::uint64_t>(link.at_ns)),
          value_of(link.packets_per_s),
          value_of(link.bytes_per_s),
          count(link.queue_bytes),
          value_of(link.round_trip_ns),
          count(link.refused),
          link.transport.empty() ? Value() : Value(link.transport),
          report.at_ns,
          node.reason.empty() ? Value() : Value(node.reason),
          fact("cores"),
          fact("idle"),
          fact("run_queue"),
          fact("memory"),
          fact("network"),
          fact("round_trip")};
}

void print_csv(const TreeReport& report, std::ostream& out) {
  const auto sink = make_result_sink(ResultFormat::kCsv, out);
  sink->begin(column_names());
  for (const TreeReport::Node& node : report.nodes) {
    if (!sink->row(row_of(report, node))) return;
  }
  sink->end();
}

void print_json(const TreeReport& report, std::ostream& out) {
  std::vector<std::string> names;
  for (const std::string& name : column_names()) names.push_back(storage::to_json(name));
  out << "{\"version\": " << viz::kApiVersion << ", \"view\": \"tree\", \"processes\": [";
  bool is_first = true;
  for (const TreeReport::Node& node : report.nodes) {
    out << (is_first ? "\n" : ",\n");
    write_json_object(names, row_of(report, node), out);
    is_first = false;
  }
  out << "\n]}\n";
}

Result<void> print(const TreeReport& report, TreeFormat format, std::ostream& out) {
  switch (format) {
    case TreeFormat::kText:
      out << tree_text(report);
      break;
    case TreeFormat::kTopology: {
      const auto text = tree_topology(report);
      if (!text) return unexpected(text.error());
      out << *text;
      break;
    }
    case TreeFormat::kDot:
      out << tree_dot(report);
      break;
    case TreeFormat::kCsv:
      print_csv(report, out);
      break;
    case TreeFormat::kJson:
      print_json(report, out);
      break;
  }
  out.flush();
  return {};
}

Result<void> show(const TreeCommandOptions& options, std::ostream& out, std::ostream& err) {
  const auto file = choose_run("tree", {options.file}, Newest::kInFolder, err);
  if (!file) return unexpected(file.error());
  const bool is_for_programs =
      options.format == TreeFormat::kCsv || options.format == TreeFormat::kJson;
  auto run = storage::RunFile::open(
      *file, is_for_programs ? storage::Texts::kExact : storage::Texts::kPrintable);
  if (!run) return unexpected(std::move(run.error()));
  const bool is_screen = options.watch_ns && &out == &std::cout && ::isatty(STDOUT_FILENO) == 1;
  for (bool is_first = true;; is_first = false) {
    const auto report = storage::make_tree_report(**run, options.at_ns);
    if (!report) return unexpected(report.error());
    if (is_screen) {
      out << kClearScreen;
    } else if (!is_first) {
      out << '\n';
    }
    if (auto printed = print(*report, options.format, out); !printed) return printed;
    if (!options.watch_ns || report->has_ended || !out) return {};
    std::this_thread::sleep_for(std::chrono::nanoseconds(*options.watch_ns));
  }
}

std::string check_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration) return duration.error().message;
  return *duration > 0 ? "" : "a time above zero is wanted, as in 1s";
}

}  // namespace

int run_tree(const TreeCommandOptions& options, std::ostream& out, std::ostream& err) {
  const auto shown = show(options, out, err);
  if (shown) return kExitSuccess;
  err << "xylem tree: " << printable(shown.error().message) << '\n';
  return kExitFailure;
}

void add_tree_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand("tree", "Show the overlay of a run, live or finished");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto options = std::make_shared<TreeCommandOptions>();
  add_run_file(*command, options->file);
  const auto formats = std::make_shared<std::map<TreeFormat, bool>>();
  const auto add_format = [&](const char* flag, TreeFormat format, const char* what) {
    return command->add_flag(flag, (*formats)[format], what);
  };
  const std::array flags = {
      add_format("--topology", TreeFormat::kTopology, "The inner tree as a topology file"),
      add_format("--dot", TreeFormat::kDot, "A graph for Graphviz"),
      add_format("--csv", TreeFormat::kCsv, "One row for each process, comma-separated"),
      add_format("--json", TreeFormat::kJson, "One JSON object with all processes")};
  for (CLI::Option* one : flags) {
    for (CLI::Option* other : flags) {
      if (one < other) one->excludes(other);
    }
  }
  const auto at = std::make_shared<std::string>();
  const auto watch = std::make_shared<std::string>();
  CLI::Option* at_option =
      command->add_option("--at", *at, "Show the tree at this time after the start, as in 90s")
          ->type_name("TIME")
          ->check(check_duration);
  command->add_option("--watch", *watch, "Print it again at this interval, as in 1s or 200ms")
      ->type_name("TIME")
      ->check(check_duration)
      ->excludes(at_option);
  command->callback([options, formats, at, watch, &code] {
    for (const auto& [format, is_chosen] : *formats) {
      if (is_chosen) options->format = format;
    }
    if (!at->empty()) options->at_ns = *parse_duration(*at);
    if (!watch->empty()) options->watch_ns = *parse_duration(*watch);
    code = run_tree(*options, std::cout, std::cerr);
  });
}

}  // namespace xylem
