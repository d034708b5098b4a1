#pragma once

// The contents of `xylem report`: the run, its account, the time in functions, waits between ranks,
// and losses. Lists are short for runs of any size.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "storage/account_line.h"
#include "storage/alert/alert_rules.h"
#include "storage/read/query.h"

namespace xylem::storage {

/// Maximum number of lines of each list.
struct ReportLimits {
  /// Number of worlds in `shares`. The worlds whose ranks spent the most time in MPI are chosen.
  std::size_t worlds = 20;
  std::size_t functions = 15;
  std::size_t inexact_ranks = 20;
  std::size_t ranks = 16;  ///< Maximum number of ranks shown of a world. If a world has more, half
                           ///< of the ranks shown have the lowest shares, and half have the
                           ///< highest.
  std::size_t waits = 10;
  std::size_t losses = 20;
  std::size_t notices = 10;
  std::size_t alerts = 10;
  std::size_t host_loads = 16;  ///< With 0, the samples of the service `host` are not read.
};

struct Report {
  struct Run {
    std::string run_id, command, directory, user, host, version, detail;
    Nanos started_realtime_ns = 0;
    std::optional<Nanos> elapsed_ns;  ///< nullopt: the run has not ended, or its front end died.
    std::optional<int> exit_code;
    /// Number of hosts. Each run folder counts as a host, so two containers on a node count as two.
    std::uint64_t hosts = 0;
    std::vector<std::string> mpi_libraries;
  };
  struct World {
    WorldId id{};
    std::string program;
    std::uint64_t size = 0;  ///< Size that the processes of the world reported.
    std::uint64_t registered = 0;
    std::string clock = {};  ///< Kind of the clock that gave its times; empty: the run's clock.
  };
  /// Sums over ranks, in calls. In every complete line, `captured` == `stored` + `lost`.
  struct Account {
    std::uint64_t ranks = 0, complete_ranks = 0;
    std::uint64_t captured = 0, stored = 0, lost = 0;
    std::uint64_t lost_of_unknown_ranks = 0;  ///< Calls in lost windows of unknown ranks.
    /// Ranks that are incomplete or have lost calls; worst first.
    std::vector<AccountLine> inexact;
    std::uint64_t inexact_ranks = 0;  ///< Number of all ranks that are incomplete or have lost
                                      ///< calls.
  };
  /// The account of single events. All numbers are 0 without --detail trace.
  struct EventAccount {
    std::uint64_t recorded = 0, stored = 0, lost = 0, ranks = 0, complete_ranks = 0;
  };
  /// Sums over all ranks of all worlds.
  struct Function {
    std::string name, function_class;
    std::uint64_t calls = 0, bytes = 0;
    Nanos time_ns = 0, max_ns = 0;
    double share = 0;        ///< Share of the time in MPI, 0 to 1.
    bool estimated = false;  ///< Some of its calls were not timed.
  };
  /// A rank's time in MPI and its span. If all events of the rank are stored, the span is from the
  /// rank's first to its last event. Otherwise it is from the rank's first to its last window with
  /// a call. The times of several threads are added.
  struct RankShare {
    Rank rank{};
    Nanos mpi_ns = 0, span_ns = 0;
    bool estimated = false;  ///< `mpi_ns` contains the time of an estimated function.
    double share() const;
  };
  struct WorldShare {
    WorldId world{};
    std::uint64_t ranks = 0;
    RankShare least, most;
    double mean = 0;             ///< Mean of the ranks' shares.
    bool estimated = false;      ///< The share of at least one rank is estimated.
    double mpi_imbalance = 0;    ///< Maximum / mean - 1, of the ranks' times in MPI.
    double other_imbalance = 0;  ///< Maximum / mean - 1, of the ranks' times outside MPI.
    /// All shares by rank, or the lowest shares and then the highest.
    std::vector<RankShare> shown;
  };
  struct Wait {
    WorldId world{};
    Rank rank{}, peer{};
    Nanos time_ns = 0;
    std::uint64_t calls = 0;
  };
  struct Loss {
    /// "ring", "message", "receive", "window", "chunk", "registration", "host", "rank"
    std::string part;
    std::string host, reason;
    /// Number of losses in this row. 0 if the row means all windows or chunks that never arrived
    /// from a lost host.
    std::uint64_t count = 0;
    std::optional<std::uint64_t> calls;            ///< nullopt: unknown, or not counted in calls.
    std::optional<std::uint64_t> messages, bytes;  ///< Set for the part "message". For "receive"
                                                   ///< only `messages` is set.
  };
  /// An auxiliary service over all hosts, in samples.
  struct Service {
    std::string name;
    /// Number of back ends with samples, and of back ends with a complete account.
    std::uint64_t back_ends = 0, complete = 0;
    std::uint64_t captured = 0, stored = 0, lost = 0;
    /// Set for a service without samples: the newest notice about the service. If there is no
    /// notice, `why` says so.
    std::string why = {};
  };
  /// A stream that the configuration names. The numbers are sums over all leaves that sent on it.
  /// So a wave counts once for each leaf.
  struct Stream {
    std::string name;
    std::uint64_t leaves = 0, complete = 0;  ///< Number of leaves that sent, and of leaves with a
                                             ///< complete account.
    std::uint64_t sent = 0, stored = 0, lost = 0;
    std::uint64_t waves = 0;  ///< Waves of which at least one part is stored.
  };
  /// Average load of a host while its service `host` measured.
  struct HostLoad {
    std::string host;
    double processors_busy = 0;
    double load = 0;                   ///< Load average of one minute.
    double least_available_bytes = 0;  ///< Minimum (not average) of available memory.
    std::uint64_t samples = 0;
  };
  /// Log lines of processes of the tree. Similar lines of a host are combined.
  struct Notice {
    std::string host, role, level, text;
    std::uint64_t times = 0;
  };

  Run run;
  std::vector<World> worlds;  ///< In the order of ids.
  std::uint64_t worlds_in_all = 0;
  Account account;
  EventAccount events;
  Nanos mpi_ns = 0;                 ///< Sum over all ranks.
  bool mpi_estimated = false;       ///< mpi_ns, and so all shares, has estimated parts.
  std::vector<Function> functions;  ///< Most time first.
  /// In the order of names; only services that the configuration names.
  std::vector<Service> services;
  /// In the order of names; only streams that the configuration names.
  std::vector<Stream> streams;
  std::vector<HostLoad> host_loads;  ///< Busiest host first.
  std::uint64_t functions_in_all = 0;
  /// One entry for each entry of `worlds` with calls, in the order of ids.
  std::vector<WorldShare> shares;
  std::vector<Wait> waits;  ///< Most time first.
  std::vector<Loss> losses;
  std::vector<Notice> notices;  ///< Errors first, then by time.
  std::uint64_t notices_in_all = 0;
  std::uint64_t notices_dropped = 0;  ///< Notices dropped by processes that logged too much.
  std::vector<Alert> alerts;          ///< Open alerts first, then by time.
  std::uint64_t alerts_in_all = 0;
  /// Sentences from verify_totals(). Empty if there are no faults or nothing was checked.
  std::vector<std::string> faults;
};

/// Fails if the file cannot be read (see RunFile::query).
Result<Report> make_report(RunFile& run, const ReportLimits& limits = {});

/// Recomputes the store's running totals from every stored window and chunk. Returns the
/// differences; empty if there are none. Reads the whole file. Fails if the file cannot be read
/// (see RunFile::query).
Result<std::vector<std::string>> verify_totals(RunFile& run);

}  // namespace xylem::storage
