#include "viz/report_json.h"

#include <optional>

#include "viz/reply.h"

namespace xylem::viz {
namespace {

using storage::Report;

void write_run(Json& json, const Report::Run& run) {
  json.object("run", [&] {
    json.field("run_id", run.run_id);
    json.field("command", run.command);
    json.field("directory", run.directory);
    json.field("user", run.user);
    json.field("host", run.host);
    json.field("version", run.version);
    json.field("detail", run.detail);
    json.field("started_ns", run.started_realtime_ns);
    json.field("elapsed_ns", run.elapsed_ns);
    json.field("exit_code", run.exit_code);
    json.field("hosts", run.hosts);
    json.array("mpi_libraries", run.mpi_libraries, [&](const auto& name) { json.value(name); });
  });
}

void write_worlds(Json& json, const Report& report) {
  json.array("worlds", report.worlds, [&](const Report::World& world) {
    json.object([&] {
      json.field("world", world.id);
      json.field("program", world.program);
      json.field("size", world.size);
      json.field("registered", world.registered);
      json.field("clock", world.clock);
    });
  });
  json.field("worlds_in_all", report.worlds_in_all);
}

void write_account(Json& json, const Report& report) {
  const Report::Account& account = report.account;
  json.object("account", [&] {
    json.field("ranks", account.ranks);
    json.field("complete_ranks", account.complete_ranks);
    json.field("captured", account.captured);
    json.field("stored", account.stored);
    json.field("lost", account.lost);
    json.field("lost_of_unknown_ranks", account.lost_of_unknown_ranks);
    json.field("inexact_ranks", account.inexact_ranks);
    json.array("inexact", account.inexact, [&](const storage::AccountLine& line) {
      json.object([&] {
        json.field("world", line.world);
        json.field("rank", line.rank);
        json.field("captured", line.captured);
        json.field("stored", line.stored);
        json.field("lost", line.lost);
        json.field("complete", line.complete);
      });
    });
  });
  const Report::EventAccount& events = report.events;
  json.object("events", [&] {
    json.field("recorded", events.recorded);
    json.field("stored", events.stored);
    json.field("lost", events.lost);
    json.field("ranks", events.ranks);
    json.field("complete_ranks", events.complete_ranks);
  });
}

void write_services(Json& json, const Report& report) {
  json.array("services", report.services, [&](const Report::Service& service) {
    json.object([&] {
      json.field("service", service.name);
      json.field("back_ends", service.back_ends);
      json.field("complete", service.complete);
      json.field("captured", service.captured);
      json.field("stored", service.stored);
      json.field("lost", service.lost);
      if (service.captured == 0) json.field("why", service.why);
    });
  });
}

/// The sums of a Report::Function or a Report::CallSite.
template <typename Row>
void write_sums(Json& json, const Row& row) {
  json.field("calls", row.calls);
  json.field("time_ns", row.time_ns);
  json.field("max_ns", row.max_ns);
  json.field("bytes", row.bytes);
  json.field("share", row.share);
  json.field("estimated", row.estimated);
}

void write_capture_cost(Json& json, const Report& report) {
  if (!report.capture_cost) return json.field("capture_cost", std::optional<int>{});
  json.object("capture_cost", [&] {
    json.field("world", report.capture_cost->world);
    json.field("rank", report.capture_cost->rank);
    json.field("time_ns", report.capture_cost->time_ns);
    json.field("share", report.capture_cost->share);
  });
}

void write_functions(Json& json, const Report& report) {
  json.field("mpi_ns", report.mpi_ns);
  json.field("mpi_estimated", report.mpi_estimated);
  json.field("functions_in_all", report.functions_in_all);
  json.array("functions", report.functions, [&](const Report::Function& function) {
    json.object([&] {
      json.field("function", function.name);
      json.field("class", function.function_class);
      write_sums(json, function);
    });
  });
}

void write_regions(Json& json, const Report& report) {
  json.field("regions_in_all", report.regions_in_all);
  json.array("regions", report.regions, [&](const Report::Region& region) {
    json.object([&] {
      json.field("region", region.name);
      json.field("ranks", region.ranks);
      json.field("visits", region.visits);
      json.field("time_ns", region.time_ns);
      json.field("longest_ns", region.longest_ns);
      json.field("mpi_ns", region.mpi_ns);
      json.field("estimated", region.estimated);
    });
  });
}

void write_rank_fields(Json& json, const Report::RankShare& rank) {
  json.field("rank", rank.rank);
  json.field("mpi_ns", rank.mpi_ns);
  json.field("span_ns", rank.span_ns);
  json.field("share", rank.share());
  json.field("estimated", rank.estimated);
}

void write_shares(Json& json, const Report& report) {
  json.array("shares", report.shares, [&](const Report::WorldShare& share) {
    json.object([&] {
      json.field("world", share.world);
      json.field("ranks", share.ranks);
      json.object("least", [&] { write_rank_fields(json, share.lowest); });
      json.object("most", [&] { write_rank_fields(json, share.highest); });
      json.field("mean_mpi_share", share.mean);
      json.field("estimated", share.estimated);
      json.field("mpi_imbalance", share.mpi_imbalance);
      json.field("other_imbalance", share.other_imbalance);
      json.array("shown", share.shown, [&](const Report::RankShare& rank) {
        json.object([&] { write_rank_fields(json, rank); });
      });
    });
  });
}

void write_under_way(Json& json, const Report& report) {
  json.field("under_way_in_all", report.under_way_in_all);
  json.array("under_way", report.under_way,
             [&](const storage::CallUnderWay& call) { write_call_under_way(json, call); });
}

void write_waits(Json& json, const Report& report) {
  json.array("waits", report.waits, [&](const Report::Wait& wait) {
    json.object([&] {
      json.field("world", wait.world);
      json.field("rank", wait.rank);
      json.field("peer", wait.peer);
      json.field("time_ns", wait.time_ns);
      json.field("calls", wait.calls);
    });
  });
  json.field("waits_share", report.wait_estimate_share());
}

void write_coverage(Json& json, const storage::WaitCoverage& coverage) {
  const auto part = [&json](const char* name, const storage::WaitCoverage::Part& of) {
    json.object(name, [&] {
      json.field("calls", of.calls);
      json.field("time_ns", of.time_ns);
    });
  };
  json.object([&] {
    json.field("world", coverage.world);
    json.field("share", coverage.share());
    json.field("waiting_ns", coverage.waiting_ns);
    json.field("unfollowed_ns", coverage.unfollowed_ns);
    part("blocking", coverage.blocking);
    part("analysed", coverage.analysed);
    for (std::size_t i = 0; i < storage::kNotAnalysedReasons; ++i) {
      part(storage::not_analysed_name(static_cast<storage::NotAnalysed>(i)),
           coverage.not_analysed[i]);
    }
  });
}

void write_wait_state(Json& json, const storage::WaitState& wait) {
  json.object([&] {
    json.field("world", wait.world);
    json.field("rank", wait.rank);
    json.field("cause_rank", wait.cause_rank);
    json.field("root_rank", wait.root_rank);
    json.field("kind", storage::wait_kind_name(wait.kind));
    json.field("function", wait.function);
    json.field("time_ns", wait.time_ns);
    json.field("calls", wait.calls);
  });
}

void write_losses(Json& json, const Report& report) {
  json.array("losses", report.losses, [&](const Report::Loss& loss) {
    json.object([&] {
      json.field("part", loss.part);
      json.field("host", loss.host);
      json.field("reason", loss.reason);
      json.field("count", loss.count);
      json.field("calls", loss.calls);
      json.field("messages", loss.messages);
      json.field("bytes", loss.bytes);
    });
  });
}

void write_streams(Json& json, const Report& report) {
  json.array("streams", report.streams, [&](const Report::Stream& stream) {
    json.object([&] {
      json.field("name", stream.name);
      json.field("waves", stream.waves);
      json.field("leaves", stream.leaves);
      json.field("complete", stream.complete);
      json.field("sent", stream.sent);
      json.field("stored", stream.stored);
      json.field("lost", stream.lost);
    });
  });
}

void write_host_loads(Json& json, const Report& report) {
  json.array("host_loads", report.host_loads, [&](const Report::HostLoad& load) {
    json.object([&] {
      json.field("host", load.host);
      json.field("processors_busy", load.processors_busy);
      json.field("load", load.load);
      json.field("samples", load.samples);
      json.field("least_available_bytes", load.least_available_bytes);
    });
  });
}

void write_notices(Json& json, const Report& report) {
  json.array("notices", report.notices, [&](const Report::Notice& notice) {
    json.object([&] {
      json.field("host", notice.host);
      json.field("role", notice.role);
      json.field("level", notice.level);
      json.field("text", notice.text);
      json.field("times", notice.times);
    });
  });
  json.field("notices_dropped", report.notices_dropped);
}

template <typename Value>
std::optional<Value> if_any(const Value& value) {
  return value.empty() ? std::nullopt : std::optional(value);
}

}  // namespace

void write_call_sites(Json& json, const std::vector<Report::CallSite>& sites, std::uint64_t in_all,
                      const std::string& fault) {
  json.field("call_sites_in_all", in_all);
  json.field("call_sites_fault", if_any(fault));
  json.array("call_sites", sites, [&](const Report::CallSite& site) {
    json.object([&] {
      json.field("function", site.function);
      json.field("place", if_any(site.place));
      json.field("caller", if_any(site.caller));
      write_sums(json, site);
    });
  });
}

void write_findings(Json& json, const storage::Findings& findings) {
  json.array("efficiencies", findings.worlds, [&](const storage::WorldEfficiency& world) {
    json.object([&] {
      json.field("world", world.world);
      json.field("ranks", world.ranks);
      json.field("runtime_ns", world.runtime_ns);
      json.field("mean_useful_ns", static_cast<Nanos>(world.mean_useful_ns));
      json.field("max_useful_ns", world.max_useful_ns);
      json.field("slowest_rank", world.slowest);
      json.field("load_balance", world.load_balance());
      json.field("communication_efficiency", world.communication());
      json.field("parallel_efficiency", world.parallel());
      json.field("estimated", world.estimated);
    });
  });
  json.array("findings", findings.findings, [&](const storage::Finding& finding) {
    json.object([&] {
      json.field("kind", finding_kind_name(finding.kind));
      json.field("severity", severity_name(finding.severity));
      json.field("text", finding.text);
      json.field("world", finding.world);
      json.field("rank", finding.rank);
      json.field("peer", finding.peer);
      json.field("root_rank", finding.root);
      json.field("wait_kind", finding.wait_kind
                                  ? std::optional<std::string>(wait_kind_name(*finding.wait_kind))
                                  : std::nullopt);
      json.field("covered", finding.covered);
      json.field("host", if_any(finding.host));
      json.field("function", if_any(finding.function));
      json.field("value", finding.value);
      json.field("estimated", finding.estimated);
    });
  });
}

void write_report(Json& json, const Report& report) {
  write_run(json, report.run);
  write_findings(json, report.findings);
  write_worlds(json, report);
  write_account(json, report);
  write_capture_cost(json, report);
  write_services(json, report);
  write_functions(json, report);
  write_regions(json, report);
  write_shares(json, report);
  write_under_way(json, report);
  write_waits(json, report);
  write_losses(json, report);
}

void write_wait_summary(Json& json, const storage::WaitSummary& waits) {
  json.array("wait_coverage", waits.worlds,
             [&](const storage::WaitCoverage& of) { write_coverage(json, of); });
  json.array("wait_causes", waits.causes, [&](const storage::WaitSummary::Cause& cause) {
    json.object([&] {
      json.field("world", cause.world);
      json.field("rank", cause.rank);
      json.field("time_ns", cause.time_ns);
      json.field("ranks", cause.ranks);
      json.array("longest", cause.longest, [&](Rank rank) { json.value(rank); });
    });
  });
  json.field("wait_causes_in_all", waits.causes_in_all);
  json.array("wait_states", waits.rows,
             [&](const storage::WaitState& wait) { write_wait_state(json, wait); });
  json.field("wait_states_in_all", waits.rows_in_all);
  json.field("wait_fault", waits.fault.empty() ? std::nullopt : std::optional(waits.fault));
}

void write_call_under_way(Json& json, const storage::CallUnderWay& call) {
  json.object([&] {
    json.field("world", call.world);
    json.field("rank", call.rank);
    json.field("thread", call.thread);
    json.field("function", call.function);
    json.field("class", call.function_class);
    json.field("begin_ns", call.begin_ns);
    json.field("at_ns", call.at_ns);
    json.field("duration_ns", call.duration_ns());
    json.field("peer", call.peer);
    json.field("comm", call.comm);
    json.field("has_ended", call.has_ended);
    json.field("host_lost", call.is_host_lost);
  });
}

void write_alert(Json& json, const storage::Alert& alert) {
  std::optional<std::string> subject;
  if (alert.subject) subject = alert_subject_name(*alert.subject);
  json.object([&] {
    json.field("at_ns", alert.at_ns);
    json.field("until_ns", alert.until_ns);
    json.field("kind", alert_kind_name(alert.kind));
    json.field("world", alert.world);
    json.field("rank", alert.rank);
    json.field("text", alert.text);
    json.field("value", alert.value);
    json.field("threshold", alert.threshold);
    json.field("subject", subject);
    json.field("leaf", alert.leaf);
    json.field("at_least", alert.at_least);
  });
}

std::string report_json(const Report& report) {
  Json json;
  json.object([&] {
    json.field("version", kApiVersion);
    json.field("view", "report");
    write_report(json, report);
    write_call_sites(json, report.call_sites, report.call_sites_in_all, report.call_sites_fault);
    write_wait_summary(json, report.wait_states);
    write_streams(json, report);
    write_host_loads(json, report);
    write_notices(json, report);
    json.array("alerts", report.alerts, [&](const auto& alert) { write_alert(json, alert); });
    json.array("faults", report.faults, [&](const std::string& fault) { json.value(fault); });
  });
  return json.take() + '\n';
}

}  // namespace xylem::viz
