#include "viz/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "viz/terminal_text.h"

namespace xylem::viz {
namespace {

using namespace storage;

using Labels = std::vector<std::pair<std::string_view, std::string>>;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text, true)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

/// Nanoseconds as seconds, without a rounding.
std::string seconds(std::uint64_t ns) {
  return fmt::format("{}.{:09}", ns / kSecond, ns % kSecond);
}

std::string seconds(Nanos ns) {
  const auto size = static_cast<std::uint64_t>(ns);
  return ns < 0 ? "-" + seconds(std::uint64_t{0} - size) : seconds(size);
}

/// Writes one family after the other; the samples of a family follow it.
class Exposition {
 public:
  explicit Exposition(MetricsFormat format) : is_open_(format == MetricsFormat::kOpenMetrics) {}

  void counter(std::string_view name, std::string_view help, std::string_view unit = "") {
    family(name, "counter", "_total", help, unit);
  }
  void gauge(std::string_view name, std::string_view help, std::string_view unit = "") {
    family(name, "gauge", "", help, unit);
  }
  void fact(std::string_view name, std::string_view help, const Labels& labels) {
    family(name, is_open_ ? "info" : "gauge", "_info", help, "");
    sample(labels, "1");
  }
  void sample(const Labels& labels, std::string_view value) {
    text_ += sample_name_;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      text_ += fmt::format("{}{}=\"{}\"", i == 0 ? '{' : ',', labels[i].first,
                           escaped(labels[i].second));
    }
    text_ += fmt::format("{} {}\n", labels.empty() ? "" : "}", value);
  }
  void sample(const Labels& labels, std::uint64_t value) { sample(labels, std::to_string(value)); }

  std::string take() { return std::move(text_) + (is_open_ ? "# EOF\n" : ""); }

 private:
  /// In OpenMetrics, the name of a family does not have the suffix of its samples. In the older
  /// format it does.
  void family(std::string_view name, std::string_view type, std::string_view suffix,
              std::string_view help, std::string_view unit) {
    sample_name_ = fmt::format("{}{}", name, suffix);
    const std::string family(is_open_ ? name : sample_name_);
    text_ += fmt::format("# TYPE {} {}\n", family, type);
    if (is_open_ && !unit.empty()) text_ += fmt::format("# UNIT {} {}\n", family, unit);
    text_ += fmt::format("# HELP {} {}\n", family, help);
  }

  bool is_open_;
  std::string text_, sample_name_;
};

void write_run(Exposition& out, const Overview& overview) {
  const Report::Run& run = overview.report.run;
  const Scope& scope = overview.scope;
  out.fact("xylem_run", "Identity of the run.",
           {{"run", run.run_id}, {"version", run.version}, {"detail", run.detail}});
  out.gauge("xylem_run_running", "1 while the run is in progress, 0 when it has ended.");
  out.sample({}, scope.has_ended ? 0 : 1);
  out.gauge("xylem_run_start_time_seconds", "Start time of the run, since 1970.", "seconds");
  out.sample({}, seconds(run.started_realtime_ns));
  out.gauge("xylem_run_duration_seconds", "Duration of the run, or its duration so far.",
            "seconds");
  out.sample({}, seconds(scope.run_end_ns - scope.run_begin_ns));
  if (run.exit_code) {
    out.gauge("xylem_run_exit_code", "The exit code of the command; -1 when it is not known.");
    out.sample({}, std::to_string(*run.exit_code));
  }
  out.gauge("xylem_hosts", "Hosts of the run.");
  out.sample({}, run.hosts);
  out.counter("xylem_notices", "Warnings and errors of the tree's processes.");
  out.sample({}, overview.report.notices_in_all);
}

void write_worlds(Exposition& out, const WorldTotals& totals) {
  using World = WorldTotals::World;
  const auto each = [&](std::uint64_t World::*member) {
    for (const World& world : totals.worlds) {
      out.sample({{"world", std::to_string(raw(world.id))}}, world.*member);
    }
  };
  out.gauge("xylem_worlds", "Worlds (MPI_COMM_WORLD) of the run; the first 32 have totals.");
  out.sample({}, totals.worlds_in_all);
  out.gauge("xylem_ranks", "Ranks that have registered.");
  each(&World::ranks);
  out.gauge("xylem_ranks_complete", "Ranks that have ended and whose calls are all accounted for.");
  each(&World::complete_ranks);
  out.counter("xylem_calls_captured", "MPI calls, as the ranks count them.");
  each(&World::captured);
  out.counter("xylem_calls_stored", "MPI calls that are in the store.");
  each(&World::stored);
  out.counter("xylem_calls_lost", "MPI calls that are known to be lost.");
  each(&World::lost);
  out.counter("xylem_payload_bytes", "Payload of MPI calls.", "bytes");
  each(&World::bytes);
  const auto each_time = [&](auto nanos) {
    for (const World& world : totals.worlds) {
      out.sample({{"world", std::to_string(raw(world.id))}}, seconds(nanos(world)));
    }
  };
  out.counter("xylem_mpi_time_seconds", "Time in MPI, of all ranks.", "seconds");
  each_time([](const World& world) { return world.mpi_ns; });
  // A gauge, not a counter: when a rank ends or its host is lost, the time since the last news of
  // the rank is subtracted again.
  out.gauge(
      "xylem_watched_time_seconds",
      "Time in which the ranks were watched, times the largest number of their threads that called"
      " MPI at the same time.",
      "seconds");
  each_time([](const World& world) { return world.watched_ns; });
  out.gauge("xylem_ranks_in_call",
            "Ranks in an MPI call that has lasted longer than longer_than_seconds so far.");
  for (const World& world : totals.worlds) {
    for (std::size_t i = 0; i < kCallLengths.size(); ++i) {
      out.sample({{"world", std::to_string(raw(world.id))},
                  {"longer_than_seconds", std::to_string(kCallLengths[i] / kSecond)}},
                 world.ranks_in_call[i]);
    }
  }
  out.gauge("xylem_longest_call_under_way_seconds",
            "Duration so far of the longest MPI call that has not returned; 0 without one.",
            "seconds");
  each_time([](const World& world) { return world.longest_call_ns; });
}

void write_shares(Exposition& out, const Report& report) {
  if (report.shares.empty()) return;
  const std::size_t worlds = std::min<std::size_t>(report.shares.size(), kMaxTotals);
  const auto each = [&](auto value) {
    for (std::size_t i = 0; i < worlds; ++i) {
      const Report::WorldShare& share = report.shares[i];
      out.sample({{"world", std::to_string(raw(share.world))}}, fmt::format("{}", value(share)));
    }
  };
  out.gauge("xylem_mpi_time_ratio", "Mean share of the ranks' watched time that is in MPI.",
            "ratio");
  each([](const Report::WorldShare& share) { return share.mean; });
  out.gauge("xylem_mpi_time_least_ratio",
            "Share of watched time in MPI of the rank with the smallest share.", "ratio");
  each([](const Report::WorldShare& share) { return share.lowest.share(); });
  out.gauge("xylem_mpi_time_most_ratio",
            "Share of watched time in MPI of the rank with the largest share.", "ratio");
  each([](const Report::WorldShare& share) { return share.highest.share(); });
}

void write_efficiencies(Exposition& out, const Findings& findings) {
  if (findings.worlds.empty()) return;
  const auto each = [&](auto value) {
    for (const WorldEfficiency& world : findings.worlds) {
      out.sample({{"world", std::to_string(raw(world.world))}}, fmt::format("{}", value(world)));
    }
  };
  out.gauge("xylem_parallel_efficiency_ratio",
            "Mean time of the ranks outside of MPI, by the world's runtime between MPI_Init and"
            " MPI_Finalize.",
            "ratio");
  each([](const WorldEfficiency& world) { return world.parallel(); });
  out.gauge("xylem_load_balance_ratio", "Mean by maximum of the ranks' time outside of MPI.",
            "ratio");
  each([](const WorldEfficiency& world) { return world.load_balance(); });
  out.gauge("xylem_communication_efficiency_ratio",
            "Maximum of the ranks' time outside of MPI, by the world's runtime.", "ratio");
  each([](const WorldEfficiency& world) { return world.communication(); });
}

void write_events(Exposition& out, const Report::EventAccount& events) {
  out.counter("xylem_events_recorded", "Single events that were recorded; 0 without traces.");
  out.sample({}, events.recorded);
  out.counter("xylem_events_stored", "Single events that are in the store.");
  out.sample({}, events.stored);
  out.counter("xylem_events_lost", "Single events that are known to be lost.");
  out.sample({}, events.lost);
}

void write_functions(Exposition& out, const Report& report) {
  struct Sum {
    std::uint64_t calls = 0, bytes = 0, time_ns = 0;
  };
  std::map<std::string, Sum>
      functions;  // Indexed by the written text, since no series may occur twice.
  for (const Report::Function& function : report.functions) {
    Sum& sum = functions[escaped(function.name)];
    sum.calls += function.calls;
    sum.bytes += function.bytes;
    sum.time_ns += static_cast<std::uint64_t>(function.time_ns);
  }
  out.counter("xylem_function_calls", "Calls of the functions with most time, of all worlds.");
  for (const auto& [name, sum] : functions) out.sample({{"function", name}}, sum.calls);
  out.counter("xylem_function_time_seconds", "Time in the functions with most time, of all ranks.",
              "seconds");
  for (const auto& [name, sum] : functions) out.sample({{"function", name}}, seconds(sum.time_ns));
  out.counter("xylem_function_payload_bytes",
              "Payload of the functions with most time, of all worlds.", "bytes");
  for (const auto& [name, sum] : functions) out.sample({{"function", name}}, sum.bytes);
}

void write_tree(Exposition& out, const TreeReport& tree) {
  struct Links {
    std::uint64_t queue_bytes = 0, silent = 0, refused = 0;
    double bytes_per_s = 0;
    Nanos round_trip_ns = 0;
  };
  std::map<std::pair<std::string, std::string>, std::uint64_t> states;
  std::map<std::string, Links> roles;
  for (const TreeReport::Node& node : tree.nodes) {
    ++states[{node.role, node.state}];
    Links& links = roles[node.role];
    if (node.silent_ns) ++links.silent;
    if (!node.link) continue;
    links.queue_bytes += node.link->queue_bytes;
    links.refused += node.link->refused;
    links.bytes_per_s += std::max(0.0, node.link->bytes_per_s.value_or(0));
    links.round_trip_ns = std::max(links.round_trip_ns, node.link->round_trip_ns.value_or(0));
  }
  out.gauge("xylem_overlay_processes", "Processes of the tree.");
  for (const auto& [key, count] : states) {
    out.sample({{"role", key.first}, {"state", key.second}}, count);
  }
  const auto each = [&](auto value) {
    for (const auto& [role, links] : roles) out.sample({{"role", role}}, value(links));
  };
  out.gauge("xylem_overlay_silent_processes", "Processes that have been silent for 4 s or longer.");
  each([](const Links& links) { return links.silent; });
  out.gauge("xylem_overlay_queue_bytes", "Bytes that wait to be sent or stored.", "bytes");
  each([](const Links& links) { return links.queue_bytes; });
  // A gauge, not a counter: processes come and go.
  out.gauge("xylem_overlay_sent_bytes_per_second",
            "Bytes per second that the processes send to their parents.");
  each([](const Links& links) { return fmt::format("{}", links.bytes_per_s); });
  out.gauge("xylem_overlay_longest_round_trip_seconds",
            "Longest round trip of the links to parents; for the front end, its longest commit.",
            "seconds");
  each([](const Links& links) { return seconds(links.round_trip_ns); });
  out.gauge("xylem_overlay_refused_strangers", "Connections that the processes have refused.");
  each([](const Links& links) { return links.refused; });
}

}  // namespace

MetricsFormat metrics_format(std::string_view accept) {
  const bool is_text = accept.find("text/plain") != std::string_view::npos;
  const bool is_open = accept.find("application/openmetrics-text") != std::string_view::npos;
  return is_text && !is_open ? MetricsFormat::kText : MetricsFormat::kOpenMetrics;
}

std::string metrics_type(MetricsFormat format) {
  return format == MetricsFormat::kText
             ? "text/plain; version=0.0.4; charset=utf-8"
             : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

std::string metrics_text(const MetricsValues& values, MetricsFormat format) {
  Exposition out(format);
  write_run(out, values.overview);
  write_worlds(out, values.totals);
  write_shares(out, values.overview.report);
  write_efficiencies(out, values.overview.report.findings);
  write_events(out, values.overview.report.events);
  write_functions(out, values.overview.report);
  out.gauge("xylem_alerts_open", "Alerts whose cause persists.");
  out.sample({}, values.alerts.open);
  out.counter("xylem_alerts", "Alerts that were raised.");
  out.sample({}, values.alerts.alerts_in_all);
  write_tree(out, values.tree.report);
  out.counter("xylem_server_refused_requests", "Requests that this server has refused.");
  for (const auto& [reason, count] : values.refused) out.sample({{"reason", reason}}, count);
  return out.take();
}

}  // namespace xylem::viz
