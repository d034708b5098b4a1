#pragma once

// The contents of `xylem report`: the findings, the run, the account, the time in functions, waits
// between ranks, and losses. For runs of any size, the lists are short.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "storage/account_line.h"
#include "storage/alert/alert_rules.h"
#include "storage/read/findings.h"
#include "storage/read/query.h"
#include "storage/read/under_way.h"
#include "storage/read/wait_summary.h"

namespace xylem::storage {

/// Maximum numbers of entries. The lists of services, streams and MPI libraries have no maximum.
struct ReportLimits {
  /// Number of worlds. The worlds whose ranks spent the most time in MPI are chosen.
  std::size_t worlds = 20;
  std::size_t functions = 15;
  std::size_t call_sites = 15;
  std::size_t regions = 15;
  std::size_t inexact_ranks = 20;
  /// Maximum number of ranks shown for each world. If a world has more ranks, the ranks with the
  /// lowest shares and the ranks with the highest shares are shown, half of each.
  std::size_t ranks = 16;
  std::size_t under_way = 16;
  std::size_t waits = 10;
  std::size_t wait_states = 10;  ///< Number of causes and of waits from events.
  std::size_t losses = 20;
  std::size_t notices = 10;
  std::size_t alerts = 10;
  std::size_t host_loads = 16;  ///< 0: the samples of the service `host` are not read.
};

struct Report {
  struct Run {
    std::string run_id, command, directory, user, host, version, detail;
    Nanos started_realtime_ns = 0;
    std::optional<Nanos> elapsed_ns;  ///< nullopt: the run has not ended, or its front end died.
    std::optional<int> exit_code;
    /// Number of hosts. Each local run folder counts as a host, so two containers on one machine
    /// count as two hosts.
    std::uint64_t hosts = 0;
    std::vector<std::string> mpi_libraries;
  };
  struct World {
    WorldId id{};
    std::string program;
    std::uint64_t size = 0;  ///< Size that the processes of the world reported.
    std::uint64_t registered = 0;
    std::string clock = {};  ///< Kind of clock for the world's times; empty: the run's clock.
  };
  /// Sums of calls over all ranks. If the account of a rank is complete, `captured` == `stored` +
  /// `lost` for this rank.
  struct Account {
    std::uint64_t ranks = 0, complete_ranks = 0;
    std::uint64_t captured = 0, stored = 0, lost = 0;
    std::uint64_t lost_of_unknown_ranks = 0;  ///< Calls in lost windows of unknown ranks.
    /// The ranks with an incomplete account or with lost calls; worst first.
    std::vector<AccountLine> inexact;
    /// Number of all ranks with an incomplete account or with lost calls.
    std::uint64_t inexact_ranks = 0;
  };
  /// The account of single events. Without `--detail trace`, `recorded`, `stored` and `lost` are 0.
  struct EventAccount {
    std::uint64_t recorded = 0, stored = 0, lost = 0, ranks = 0, complete_ranks = 0;
  };
  /// About what capture has added to a rank, by the view `capture_cost`.
  struct CaptureCost {
    WorldId world{};
    Rank rank{};
    Nanos time_ns = 0;
    double share = 0;  ///< Share of the time in which the rank was watched, 0 to 1; see RankShare.
  };
  /// Sums over all ranks of all worlds.
  struct Function {
    std::string name, function_class;
    std::uint64_t calls = 0, bytes = 0;
    Nanos time_ns = 0, max_ns = 0;
    double share = 0;        ///< Share of the time in MPI, 0 to 1.
    bool estimated = false;  ///< Some calls of the function were not timed.
  };
  /// Sums over the calls of one function from one place in the program, over all ranks.
  struct CallSite {
    std::string function;
    /// FILE:LINE of the call, without folders; OBJECT+0xOFFSET without debugging information; "" if
    /// the place is not known.
    std::string place;
    std::string caller;  ///< Function of the program that calls; "" if it is not known.
    std::uint64_t calls = 0, bytes = 0;
    Nanos time_ns = 0, max_ns = 0;
    double share = 0;  ///< Share of the time in MPI, 0 to 1.
    bool estimated = false;
  };
  /// A region that the program has named, over all ranks. Its time includes the regions inside.
  struct Region {
    std::string name;
    std::uint64_t ranks = 0;   ///< Ranks that have visited it.
    std::uint64_t visits = 0;  ///< With those that have not ended.
    Nanos time_ns = 0;
    Nanos longest_ns = 0;      ///< The time of the rank that spent most in it.
    Nanos mpi_ns = 0;          ///< Time in MPI inside, at most `time_ns`.
    bool estimated = false;    ///< `mpi_ns` includes estimates.
    double mpi_share() const;  ///< Share of `time_ns` in MPI, 0 to 1.
  };
  /// The share of time that a rank spends in MPI. `mpi_ns` is the time in MPI, summed over the
  /// rank's threads. `span_ns` is the time in which the rank was watched, multiplied by the largest
  /// number of its threads that called MPI at the same time (at most 64). A rank is watched from
  /// its first call or its registration until its end or now. Files of older agents do not have
  /// these times: there the span is from the first to the last stored event, if all events are
  /// stored, else from the first to the last window with a call of the rank.
  struct RankShare {
    Rank rank{};
    Nanos mpi_ns = 0, span_ns = 0;
    bool estimated = false;  ///< `mpi_ns` includes estimated times.
    double share() const;    ///< From 0 to 1.
  };
  struct WorldShare {
    WorldId world{};
    std::uint64_t ranks = 0;
    RankShare lowest, highest;   ///< The ranks with the lowest and the highest share.
    double mean = 0;             ///< Mean of the ranks' shares.
    bool estimated = false;      ///< True if the share of at least one rank is estimated.
    double mpi_imbalance = 0;    ///< Maximum / mean - 1 of the ranks' times in MPI.
    double other_imbalance = 0;  ///< Maximum / mean - 1 of the ranks' times outside MPI.
    /// All shares, sorted by rank. If there are too many, the lowest shares, then the highest.
    std::vector<RankShare> shown;
  };
  struct Wait {
    WorldId world{};
    Rank rank{}, peer{};
    Nanos time_ns = 0;
    std::uint64_t calls = 0;
  };
  struct Loss {
    /// "ring", "message", "receive", "request", "window", "chunk", "registration", "host", "rank"
    std::string part;
    std::string host, reason;
    /// Number of losses in this row. 0 if the row stands for all windows or chunks that never
    /// arrived from a lost host.
    std::uint64_t count = 0;
    std::optional<std::uint64_t> calls;            ///< nullopt: unknown, or the part has no calls.
    std::optional<std::uint64_t> messages, bytes;  ///< Set for the part "message". For "receive"
                                                   ///< and "request" only `messages` is set.
  };
  /// An auxiliary service, over all hosts. The account is in samples.
  struct Service {
    std::string name;
    /// Number of back ends with samples, and number of back ends with a complete account.
    std::uint64_t back_ends = 0, complete = 0;
    std::uint64_t captured = 0, stored = 0, lost = 0;
    /// The newest notice about the service, or a text that there is none. Set only for a service
    /// without samples.
    std::string why = {};
  };
  /// A stream that the configuration names. `sent`, `stored` and `lost` are sums over all leaves
  /// that sent on the stream, so a wave counts once for each of these leaves.
  struct Stream {
    std::string name;
    /// Number of leaves with an account on the stream, and number of complete accounts.
    std::uint64_t leaves = 0, complete = 0;
    std::uint64_t sent = 0, stored = 0, lost = 0;
    std::uint64_t waves = 0;  ///< Waves of which at least one part is stored.
  };
  /// Average load of a host over the samples of the service `host`.
  struct HostLoad {
    std::string host;
    double processors_busy = 0;
    double load = 0;                   ///< Load average of one minute.
    double least_available_bytes = 0;  ///< Minimum (not average) of available memory.
    std::uint64_t samples = 0;
  };
  /// Log lines of processes of the tree. Equal lines from one host and role are combined.
  struct Notice {
    std::string host, role, level, text;
    std::uint64_t times = 0;
  };

  Run run;
  Findings findings;
  std::vector<World> worlds;  ///< In the order of ids.
  std::uint64_t worlds_in_all = 0;
  Account account;
  EventAccount events;
  /// The rank with the largest share. nullopt: the cost is not known.
  std::optional<CaptureCost> capture_cost;
  Nanos mpi_ns = 0;  ///< Sum over all ranks.
  /// `mpi_ns` includes estimated times; so the shares are estimates too.
  bool mpi_estimated = false;
  std::vector<Function> functions;  ///< The function with the most time first.
  /// From the trace; the place with the most time first. Call sites in one line are one place.
  /// Empty if the run has no trace, if no call site is known, and before add_call_sites().
  std::vector<CallSite> call_sites;
  std::uint64_t call_sites_in_all = 0;
  std::vector<Region> regions;  ///< The region with the most time first.
  std::uint64_t regions_in_all = 0;
  std::string call_sites_fault;  ///< Why the call sites could not be read; empty if they were.
  /// Sorted by name; only services that the configuration names.
  std::vector<Service> services;
  /// Sorted by name; only streams that the configuration names.
  std::vector<Stream> streams;
  std::vector<HostLoad> host_loads;  ///< Busiest host first.
  std::uint64_t functions_in_all = 0;
  /// One entry for each world in `worlds` that has calls, in the order of ids.
  std::vector<WorldShare> shares;
  /// Calls that have not returned, and calls in which a process ended or a host was lost; the
  /// longest first.
  std::vector<CallUnderWay> under_way;
  std::uint64_t under_way_in_all = 0;
  /// An estimate from sums: the time in calls that received from a rank. The longest wait first.
  std::vector<Wait> waits;
  Nanos waits_in_all_ns = 0;  ///< Sum of all waits of the estimate.
  /// The waits and their causes, from events. Empty if make_report() got no wait states.
  WaitSummary wait_states;
  /// Share of the time in MPI that the estimate is about, 0 to 1.
  double wait_estimate_share() const;
  std::vector<Loss> losses;
  std::vector<Notice> notices;  ///< Errors first, then by time.
  std::uint64_t notices_in_all = 0;
  std::uint64_t notices_dropped = 0;  ///< Notices dropped by processes that logged too much.
  std::vector<Alert> alerts;          ///< Open alerts first, then by time.
  std::uint64_t alerts_in_all = 0;
  /// The result of verify_totals(). Empty if there are no differences, or if verify_totals() was
  /// not called.
  std::vector<std::string> faults;
};

/// `waits`: the wait states of the run. If it is null, the findings name waits by the estimate.
/// Events are read only to see whether ranks compute in turn. If the run has many events, only some
/// from the middle of the run are read. Fails if the file cannot be read (see RunFile::query).
Result<Report> make_report(RunFile& run, const WaitStates* waits, const ReportLimits& limits = {});
/// The same, with all wait states and call sites of the run: reads all events, see
/// RunFile::wait_states().
Result<Report> make_report(RunFile& run, const ReportLimits& limits = {});

/// Adds the call sites to a report of the same run, of which `mpi_ns` is known. Reads all events,
/// which takes about 0.1 us for each. If they cannot be read, `call_sites_fault` says why.
void add_call_sites(RunFile& run, const ReportLimits& limits, Report& report);

/// Computes totals again from the rows of windows, chunks, samples and waves. Returns one sentence
/// for each difference. Reads all these rows, which takes long in a large file. Fails if the file
/// cannot be read (see RunFile::query).
Result<std::vector<std::string>> verify_totals(RunFile& run);

}  // namespace xylem::storage
