#include "viz/report_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "base/saturating.h"
#include "viz/text_columns.h"

namespace xylem::viz {
namespace {

using storage::Report;

constexpr bool kLeft = false;
constexpr bool kRight = true;

std::string plural(std::uint64_t count, const char* one, const char* many) {
  return count_text(count) + ' ' + (count == 1 ? one : many);
}

std::string head_text(const Report& report) {
  const Report::Run& run = report.run;
  std::string text = run.command.empty() ? "(no command)\n" : run.command + '\n';
  text += "  started  " + date_text(run.started_realtime_ns);
  text += run.elapsed_ns ? ", ran " + duration_text(*run.elapsed_ns) : ", its end is not stored";
  if (run.exit_code) text += fmt::format(", exit code {}", *run.exit_code);
  text += "\n  where    " + plural(run.hosts, "host", "hosts") + "; front end on " + run.host +
          " by " + run.user + " in " + run.directory + '\n';
  for (const Report::World& world : report.worlds) {
    text += fmt::format("  world {}  {}: {} of {}\n", raw(world.id), world.program,
                        count_text(world.registered), plural(world.size, "rank", "ranks"));
    if (!world.clock.empty()) text.insert(text.size() - 1, "; times are " + world.clock);
  }
  if (const std::uint64_t more = report.worlds_in_all - report.worlds.size(); more != 0) {
    text +=
        "  and " + plural(more, "world", "worlds") +
        " more, in which less time was spent; `xylem query FILE 'SELECT * FROM world'` has all\n";
  }
  if (report.worlds.empty()) text += "  world    none: no rank has registered\n";
  if (!run.mpi_libraries.empty())
    text += fmt::format("  MPI      {}\n", fmt::join(run.mpi_libraries, ", "));
  return text + fmt::format("  record   detail {}, run {}, xylem {}\n", run.detail, run.run_id,
                            run.version);
}

std::string findings_text(const Report& report) {
  const auto& findings = report.findings.findings;
  if (findings.empty()) return {};
  std::string text = "\nFindings\n";
  for (std::size_t i = 0; i < std::min(findings.size(), storage::kShownFindings); ++i) {
    text += "  " + findings[i].text + '\n';
  }
  return text;
}

std::string account_text(const Report& report) {
  const Report::Account& account = report.account;
  std::string text = "\nAccount\n";
  text += fmt::format("  {} calls captured, {} stored, {} lost; {} of {} complete\n",
                      count_text(account.captured), count_text(account.stored),
                      count_text(account.lost), count_text(account.complete_ranks),
                      plural(account.ranks, "rank", "ranks"));
  if (account.lost_of_unknown_ranks != 0) {
    text += fmt::format("  {} more calls lost, of ranks that cannot be told apart\n",
                        count_text(account.lost_of_unknown_ranks));
  }
  if (report.run.detail == "trace") {
    const Report::EventAccount& events = report.events;
    text +=
        fmt::format("  {} events recorded, {} stored, {} lost; {} of {} complete\n",
                    count_text(events.recorded), count_text(events.stored), count_text(events.lost),
                    count_text(events.complete_ranks), plural(events.ranks, "rank", "ranks"));
  }
  if (report.capture_cost) {
    text += fmt::format("  capture took about {} of rank {}: {} of its time\n",
                        duration_text(report.capture_cost->time_ns),
                        count_text(raw(report.capture_cost->rank)),
                        percent_text(report.capture_cost->share));
  }
  if (account.inexact.empty()) return text;
  TextColumns columns({{"world", kRight},
                       {"rank", kRight},
                       {"captured", kRight},
                       {"stored", kRight},
                       {"lost", kRight},
                       {"missing", kRight},
                       {"complete", kLeft}});
  for (const storage::AccountLine& line : account.inexact) {
    const std::uint64_t known = line.stored + line.lost;
    columns.add({count_text(raw(line.world)), count_text(raw(line.rank)), count_text(line.captured),
                 count_text(line.stored), count_text(line.lost),
                 count_text(line.captured > known ? line.captured - known : 0),
                 line.complete ? "yes" : "no"});
  }
  text += columns.text();
  const std::uint64_t more = account.inexact_ranks - account.inexact.size();
  if (more != 0) text += "  and " + plural(more, "rank", "ranks") + " more\n";
  return text;
}

std::string streams_text(const Report& report) {
  if (report.streams.empty()) return {};
  std::string text = "\nStreams\n";
  for (const Report::Stream& stream : report.streams) {
    text +=
        fmt::format("  {}: {} of {}; {} sent, {} stored, {} lost; {} complete\n", stream.name,
                    plural(stream.waves, "wave", "waves"), plural(stream.leaves, "leaf", "leaves"),
                    count_text(stream.sent), count_text(stream.stored), count_text(stream.lost),
                    count_text(stream.complete));
  }
  return text;
}

std::string services_text(const Report& report) {
  if (report.services.empty()) return {};
  std::string text = "\nServices\n";
  for (const Report::Service& service : report.services) {
    if (service.captured == 0) {
      text += fmt::format("  {}: 0 samples captured, 0 stored, 0 lost; {}\n", service.name,
                          service.why);
      continue;
    }
    text += fmt::format("  {}: {} samples captured, {} stored, {} lost; {} of {} complete\n",
                        service.name, count_text(service.captured), count_text(service.stored),
                        count_text(service.lost), count_text(service.complete),
                        plural(service.back_ends, "back end", "back ends"));
  }
  if (report.host_loads.empty()) return text;
  TextColumns columns({{"host", kLeft},
                       {"processors busy", kRight},
                       {"load", kRight},
                       {"least memory free", kRight}});
  for (const Report::HostLoad& load : report.host_loads) {
    columns.add({load.host, fmt::format("{:.2f}", load.processors_busy),
                 fmt::format("{:.2f}", load.load),
                 bytes_text(saturating_cast<std::uint64_t>(load.least_available_bytes))});
  }
  return text + columns.text();
}

const char* about(bool estimated) { return estimated ? "~" : ""; }

std::string functions_text(const Report& report) {
  std::string text = "\nTime in MPI, all ranks: ";
  text += about(report.mpi_estimated) + duration_text(report.mpi_ns) + '\n';
  TextColumns columns({{"function", kLeft},
                       {"calls", kRight},
                       {"total", kRight},
                       {"share", kRight},
                       {"mean", kRight},
                       {"longest", kRight},
                       {"payload", kRight}});
  for (const Report::Function& function : report.functions) {
    const char* const tilde = about(function.estimated);
    const auto mean = storage::mean_duration(function.calls, function.time_ns, function.max_ns,
                                             function.estimated);
    columns.add({function.name, count_text(function.calls), tilde + duration_text(function.time_ns),
                 about(report.mpi_estimated) + percent_text(function.share),
                 mean ? tilde + duration_text(*mean) : "", duration_text(function.max_ns),
                 function.bytes == 0 ? "" : bytes_text(function.bytes)});
  }
  text += columns.text();
  const std::uint64_t more = report.functions_in_all - report.functions.size();
  if (more != 0) text += "  and " + plural(more, "function", "functions") + " more\n";
  if (report.mpi_estimated)
    text += "  ~ estimated: some of the calls were timed, all were counted\n";
  return text;
}

std::string regions_text(const Report& report) {
  if (report.regions.empty()) return {};
  TextColumns columns({{"region", kLeft},
                       {"ranks", kRight},
                       {"visits", kRight},
                       {"total", kRight},
                       {"longest rank", kRight},
                       {"in MPI", kRight}});
  for (const Report::Region& region : report.regions) {
    columns.add({printable(region.name), count_text(region.ranks), count_text(region.visits),
                 duration_text(region.time_ns), duration_text(region.longest_ns),
                 about(region.estimated) + percent_text(region.mpi_share())});
  }
  std::string text = "\nRegions, all ranks\n" + columns.text();
  const std::uint64_t more = report.regions_in_all - report.regions.size();
  if (more != 0) text += "  and " + plural(more, "region", "regions") + " more\n";
  return text;
}

std::string call_sites_text(const Report& report) {
  std::string text = "\nCall sites, all ranks\n";
  if (!report.call_sites_fault.empty()) return text + "  " + report.call_sites_fault + "\n";
  TextColumns columns({{"place", kLeft},
                       {"in", kLeft},
                       {"function", kLeft},
                       {"calls", kRight},
                       {"total", kRight},
                       {"share", kRight},
                       {"longest", kRight},
                       {"payload", kRight}});
  for (const Report::CallSite& site : report.call_sites) {
    const char* const tilde = about(site.estimated);
    columns.add({site.place.empty() ? "not known" : printable(site.place), printable(site.caller),
                 site.function, count_text(site.calls), tilde + duration_text(site.time_ns),
                 about(site.estimated || report.mpi_estimated) + percent_text(site.share),
                 duration_text(site.max_ns), site.bytes == 0 ? "" : bytes_text(site.bytes)});
  }
  text += columns.text();
  const std::uint64_t more = report.call_sites_in_all - report.call_sites.size();
  if (more != 0) text += "  and " + plural(more, "call site", "call sites") + " more\n";
  return text;
}

std::string share_text(const Report::RankShare& rank) {
  return about(rank.estimated) + percent_text(rank.share());
}

std::string share_text(const Report::WorldShare& share) {
  std::string text = fmt::format("\nShare of MPI, world {}, {}\n", raw(share.world),
                                 plural(share.ranks, "rank", "ranks"));
  text +=
      fmt::format("  least {} (rank {}), mean {}, most {} (rank {})\n", share_text(share.lowest),
                  raw(share.lowest.rank), about(share.estimated) + percent_text(share.mean),
                  share_text(share.highest), raw(share.highest.rank));
  text += fmt::format(
      "  imbalance {} of the time in MPI, {} of the time outside"
      " (max / mean - 1 over ranks)\n",
      about(share.estimated) + percent_text(share.mpi_imbalance),
      about(share.estimated) + percent_text(share.other_imbalance));
  TextColumns columns({{"rank", kRight}, {"in MPI", kRight}, {"of", kRight}, {"share", kRight}});
  const bool cut = share.shown.size() < share.ranks;
  for (std::size_t i = 0; i < share.shown.size(); ++i) {
    const Report::RankShare& rank = share.shown[i];
    columns.add({count_text(raw(rank.rank)), about(rank.estimated) + duration_text(rank.mpi_ns),
                 duration_text(rank.span_ns), share_text(rank)});
    if (cut && i + 1 == share.shown.size() / 2) columns.add({"...", "", "", ""});
  }
  return text + columns.text();
}

std::string under_way_text(const Report& report) {
  if (report.under_way.empty()) return {};
  const bool worlds = report.worlds_in_all > 1;
  const bool threads = std::ranges::any_of(report.under_way, [](const storage::CallUnderWay& call) {
    return call.thread != ThreadIndex{};
  });
  TextColumns columns({{threads ? "rank:thread" : "rank", kRight},
                       {"function", kLeft},
                       {"for", kRight},
                       {"since", kRight},
                       {"peer", kRight},
                       {"", kLeft}});
  for (const storage::CallUnderWay& call : report.under_way) {
    const std::string world = worlds ? fmt::format("{}/", raw(call.world)) : "";
    const std::string thread = threads ? fmt::format(":{}", raw(call.thread)) : "";
    columns.add({world + count_text(raw(call.rank)) + thread, call.function,
                 duration_text(call.duration_ns()), duration_text(call.begin_ns),
                 call.peer ? world + count_text(raw(*call.peer)) : "", why_no_longer(call)});
  }
  std::string text = fmt::format("\nUnder way: {} not returned{}\n",
                                 plural(report.under_way_in_all, "call has", "calls have"),
                                 worlds ? " (world/rank)" : "");
  text += columns.text();
  const std::uint64_t more = report.under_way_in_all - report.under_way.size();
  if (more != 0) text += "  and " + plural(more, "call", "calls") + " more\n";
  return text;
}

// "rank 3", or "rank 0/3" if there are several worlds.
std::string rank_name(WorldId world, Rank rank, bool worlds) {
  return worlds ? fmt::format("rank {}/{}", raw(world), raw(rank))
                : fmt::format("rank {}", raw(rank));
}

std::string cause_text(const storage::WaitSummary::Cause& cause, bool worlds) {
  std::vector<std::string> ranks;
  for (const Rank rank : cause.longest) ranks.push_back(std::to_string(raw(rank)));
  const bool has_more = cause.ranks > cause.longest.size();
  const std::string who =
      has_more ? fmt::format("{} ranks, most of it in ranks ", count_text(cause.ranks))
               : (cause.ranks == 1 ? "rank " : "ranks ");
  return fmt::format("  {} caused {} of waiting in {}{}\n",
                     rank_name(cause.world, cause.rank, worlds), duration_text(cause.time_ns), who,
                     fmt::join(ranks, ", "));
}

std::string wait_state_text(const storage::WaitState& wait, bool worlds) {
  const auto name = [&](std::optional<Rank> rank) {
    return rank ? rank_name(wait.world, *rank, worlds) : "many ranks";
  };
  const bool has_root = wait.root_rank && wait.root_rank != wait.cause_rank;
  return fmt::format("  {} waited {} for {} ({}, {}, {}{})\n", name(wait.rank),
                     duration_text(wait.time_ns), name(wait.cause_rank), wait_kind_words(wait.kind),
                     wait.function, plural(wait.calls, "call", "calls"),
                     has_root ? "; root cause: " + name(wait.root_rank) : "");
}

std::string not_analysed_text(const storage::WaitCoverage& total) {
  std::string text;
  for (std::size_t i = 0; i < storage::kNotAnalysedReasons; ++i) {
    const auto& part = total.not_analysed[i];
    if (part.calls == 0) continue;
    text += fmt::format("  not analysed: {} in {}: {}\n", duration_text(part.time_ns),
                        plural(part.calls, "call", "calls"),
                        not_analysed_words(static_cast<storage::NotAnalysed>(i)));
  }
  return text;
}

std::string wait_states_text(const Report& report) {
  const storage::WaitSummary& waits = report.wait_states;
  const bool worlds = report.worlds_in_all > 1;
  const storage::WaitCoverage total = waits.total();
  std::string text = fmt::format(
      "\nWaits, from the trace: {} of {} in blocking calls; {} of this time is analysed\n",
      duration_text(total.waiting_ns), duration_text(total.blocking.time_ns),
      percent_text(total.share()));
  for (const auto& cause : waits.causes) text += cause_text(cause, worlds);
  for (const auto& wait : waits.rows) text += wait_state_text(wait, worlds);
  if (waits.rows_in_all > waits.rows.size()) {
    text += "  and " + count_text(waits.rows_in_all - waits.rows.size()) +
            " more; `xylem query FILE 'SELECT * FROM wait_state'` has all\n";
  }
  return text + not_analysed_text(total);
}

// From the sums of windows. They know the time of a call, but not when its message was sent.
std::string waits_text(const Report& report) {
  if (report.wait_states.is_known()) return wait_states_text(report);
  std::string fault = report.wait_states.fault.empty()
                          ? ""
                          : "\nThe events cannot be read: " + report.wait_states.fault + '\n';
  if (report.waits.empty()) return fault;
  const bool worlds = report.worlds_in_all > 1;
  TextColumns columns(
      {{"rank", kRight}, {"waits for", kRight}, {"time", kRight}, {"calls", kRight}});
  for (const Report::Wait& wait : report.waits) {
    const std::string world = worlds ? fmt::format("{}/", raw(wait.world)) : "";
    columns.add({world + count_text(raw(wait.rank)), world + count_text(raw(wait.peer)),
                 duration_text(wait.time_ns), count_text(wait.calls)});
  }
  return fault +
         fmt::format(
             "\nWaits, an estimate: the whole time of calls that received from a rank{}\n"
             "  They took {} of the time in MPI. Sends and collectives are not in it; `--detail"
             " trace` analyses them.\n",
             worlds ? " (world/rank)" : "", percent_text(report.wait_estimate_share())) +
         columns.text();
}

std::string loss_sentence(const Report::Loss& loss) {
  const std::string calls = loss.calls ? plural(*loss.calls, "call", "calls") : "calls unknown";
  const std::string host = loss.host.empty() ? "?" : loss.host;
  if (loss.part == "host") return fmt::format("host {} was lost: {}", host, loss.reason);
  if (loss.part == "rank")
    return fmt::format("{} not watched: {}", plural(loss.count, "rank", "ranks"), loss.reason);
  if (loss.messages) {
    const std::string payload = loss.bytes ? " with " + bytes_text(*loss.bytes) : "";
    const bool is_request = loss.part == "request";
    const std::string number = plural(*loss.messages, is_request ? "request" : "message",
                                      is_request ? "requests" : "messages");
    return fmt::format("{}{} of {}: {}", number, payload, host, loss.reason);
  }
  if (loss.part == "ring") return fmt::format("{} on {}: {}", calls, host, loss.reason);
  if (loss.count == 0) {
    return fmt::format("{} in {}s of {} never came: {}", calls, loss.part, host, loss.reason);
  }
  return fmt::format("{} of {} on {}: {}",
                     plural(loss.count, loss.part.c_str(), (loss.part + "s").c_str()), calls, host,
                     loss.reason);
}

std::string losses_text(const Report& report) {
  if (report.losses.empty()) return {};
  std::string text = "\nWhat is missing\n";
  for (const Report::Loss& loss : report.losses) text += "  " + loss_sentence(loss) + '\n';
  return text;
}

std::string notices_text(const Report& report) {
  if (report.notices.empty()) return {};
  std::string text = fmt::format("\n{} from agents and communication processes\n",
                                 plural(report.notices_in_all, "notice", "notices"));
  for (const Report::Notice& notice : report.notices) {
    text +=
        fmt::format("  {} on {}: {}: {}{}\n", notice.role, notice.host, notice.level, notice.text,
                    notice.times > 1 ? fmt::format(" ({} times)", notice.times) : "");
  }
  if (report.notices_dropped > 0) {
    text +=
        fmt::format("  and {} more that were not passed on\n", count_text(report.notices_dropped));
  }
  return text;
}

std::string alerts_text(const Report& report) {
  if (report.alerts.empty()) return {};
  std::string text = fmt::format("\n{}\n", plural(report.alerts_in_all, "alert", "alerts"));
  for (const storage::Alert& alert : report.alerts) {
    const std::string until =
        alert.until_ns ? "to " + duration_text(*alert.until_ns) : "and still open";
    text += fmt::format("  {:<9}  {}  (from {} {})\n", alert_kind_name(alert.kind), alert.text,
                        duration_text(alert.at_ns), until);
  }
  if (report.alerts_in_all > report.alerts.size()) {
    text += "  and more; `xylem query FILE 'SELECT * FROM alert'` has all\n";
  }
  return text;
}

}  // namespace

const char* not_analysed_words(storage::NotAnalysed reason) {
  switch (reason) {
    case storage::NotAnalysed::kNoNumber:
      return "their messages have no number";
    case storage::NotAnalysed::kMissing:
      return "the event of another rank is missing";
    case storage::NotAnalysed::kAmbiguous:
      return "several threads used a channel at the same time";
    case storage::NotAnalysed::kNotCovered:
      return "kinds of calls that are not covered, such as MPI_Scan";
  }
  return "other";
}

const char* why_no_longer(const storage::CallUnderWay& call) {
  if (call.has_ended) return "the rank ended in it";
  return call.is_host_lost ? "its host was lost" : "";
}

std::string report_text(const Report& report) {
  std::string text = head_text(report) + findings_text(report) + account_text(report);
  if (!report.functions.empty()) text += functions_text(report);
  text += regions_text(report);
  if (!report.call_sites.empty() || !report.call_sites_fault.empty())
    text += call_sites_text(report);
  for (const Report::WorldShare& share : report.shares) text += share_text(share);
  text += under_way_text(report) + waits_text(report) + services_text(report) +
          streams_text(report) + losses_text(report) + notices_text(report) + alerts_text(report);
  if (!report.faults.empty()) text += "\nTotals that differ from what is stored\n";
  for (const std::string& fault : report.faults) text += "  " + fault + '\n';
  return text;
}

}  // namespace xylem::viz
