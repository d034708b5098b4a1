#pragma once

// The numbers of `xylem report`, as a value: the run, whether its account is exact, the time in
// functions, waits between ranks, and losses. Lists are short for runs of any size.

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
  std::size_t worlds = 20;  ///< Those whose ranks spent the most time in MPI, with shares.
  std::size_t functions = 15;
  std::size_t inexact_ranks = 20;
  std::size_t ranks = 16;  ///< A world with more shows half of this from each end.
  std::size_t waits = 10;
  std::size_t losses = 20;
  std::size_t notices = 10;
  std::size_t alerts = 10;
  std::size_t host_loads = 16;  ///< 0: do not open the samples of the service `host`.
};

struct Report {
  struct Run {
    std::string run_id, command, directory, user, host, version, detail;
    Nanos started_realtime_ns = 0;
    std::optional<Nanos> elapsed_ns;  ///< None: it has not ended, or its front end died.
    std::optional<int> exit_code;
    std::uint64_t hosts = 0;  ///< By run folder: two containers on a node count as two.
    std::vector<std::string> mpi_libraries;
  };
  struct World {
    WorldId id{};
    std::string program;
    std::uint64_t size = 0;  ///< As its processes say.
    std::uint64_t registered = 0;
    std::string clock = {};  ///< Kind of its times; empty: the run's.
  };
  /// Sums over ranks, in calls. `captured` == `stored` + `lost` in every complete line.
  struct Account {
    std::uint64_t ranks = 0, complete_ranks = 0;
    std::uint64_t captured = 0, stored = 0, lost = 0;
    std::uint64_t lost_of_unknown_ranks = 0;  ///< Lost windows of unknown ranks.
    std::vector<AccountLine> inexact;  ///< Ranks that are not complete or lost calls; worst first.
    std::uint64_t inexact_ranks = 0;   ///< Number of all such ranks.
  };
  /// The same for single events; all zero without --detail trace.
  struct EventAccount {
    std::uint64_t recorded = 0, stored = 0, lost = 0, ranks = 0, complete_ranks = 0;
  };
  /// Over all ranks of all worlds.
  struct Function {
    std::string name, function_class;
    std::uint64_t calls = 0, bytes = 0;
    Nanos time_ns = 0, max_ns = 0;
    double share = 0;        ///< Share of the time in MPI, 0 to 1.
    bool estimated = false;  ///< Not all of its calls were timed.
  };
  /// A rank's time in MPI over its span: from its first to its last event if all are stored,
  /// else from the first to the last window with a call. Several threads add up.
  struct RankShare {
    Rank rank{};
    Nanos mpi_ns = 0, span_ns = 0;
    bool estimated = false;  ///< mpi_ns contains an estimated function.
    double share() const;
  };
  struct WorldShare {
    WorldId world{};
    std::uint64_t ranks = 0;
    RankShare least, most;
    double mean = 0;               ///< Mean of the ranks' shares.
    bool estimated = false;        ///< Some rank's share is estimated.
    double mpi_imbalance = 0;      ///< max / mean - 1 of the ranks' time in MPI.
    double other_imbalance = 0;    ///< max / mean - 1 of the ranks' time outside of it.
    std::vector<RankShare> shown;  ///< All by rank, or the lowest, then the highest shares.
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
    /// Number of such losses; 0: all windows, or chunks, that never came from a lost host.
    std::uint64_t count = 0;
    std::optional<std::uint64_t> calls;            ///< None: unknown, or not counted in calls.
    std::optional<std::uint64_t> messages, bytes;  ///< For "message"; "receive" has no bytes.
  };
  /// An auxiliary service over all hosts, in samples.
  struct Service {
    std::string name;
    std::uint64_t back_ends = 0, complete = 0;  ///< With samples; with a complete account.
    std::uint64_t captured = 0, stored = 0, lost = 0;
    /// If it has no samples: the newest notice about it, or that there is none.
    std::string why = {};
  };
  /// A stream that the configuration names, over all leaves that sent on it, in waves of leaves.
  struct Stream {
    std::string name;
    std::uint64_t leaves = 0, complete = 0;  ///< All senders; those with a complete account.
    std::uint64_t sent = 0, stored = 0, lost = 0;
    std::uint64_t waves = 0;  ///< Waves of which at least a part is stored.
  };
  /// How busy a host was while its service `host` measured, on average.
  struct HostLoad {
    std::string host;
    double processors_busy = 0;
    double load = 0;                   ///< Load average of one minute.
    double least_available_bytes = 0;  ///< Memory: the minimum, not the average.
    std::uint64_t samples = 0;
  };
  /// Log lines of processes of the tree; similar lines of a host are one.
  struct Notice {
    std::string host, role, level, text;
    std::uint64_t times = 0;
  };

  Run run;
  std::vector<World> worlds;  ///< By id.
  std::uint64_t worlds_in_all = 0;
  Account account;
  EventAccount events;
  Nanos mpi_ns = 0;                  ///< Sum over all ranks.
  bool mpi_estimated = false;        ///< It, and so all shares, has estimated parts.
  std::vector<Function> functions;   ///< By time.
  std::vector<Service> services;     ///< By name; only those that the configuration names.
  std::vector<Stream> streams;       ///< By name; only those that the configuration names.
  std::vector<HostLoad> host_loads;  ///< The busiest first.
  std::uint64_t functions_in_all = 0;
  std::vector<WorldShare> shares;  ///< For the `worlds` with calls, by id.
  std::vector<Wait> waits;         ///< By time.
  std::vector<Loss> losses;
  std::vector<Notice> notices;  ///< Errors first, then by time.
  std::uint64_t notices_in_all = 0;
  std::uint64_t notices_dropped = 0;  ///< Dropped by processes that logged too much.
  std::vector<Alert> alerts;          ///< Open ones first, then by time.
  std::uint64_t alerts_in_all = 0;
  std::vector<std::string> faults;  ///< From verify_totals: sentences. Empty: none, or not run.
};

/// Fails as RunFile::query does.
Result<Report> make_report(RunFile& run, const ReportLimits& limits = {});

/// Recomputes the store's running totals from every stored window and chunk, and lists differences;
/// empty if there are none. Reads all of the file. Fails as RunFile::query.
Result<std::vector<std::string>> verify_totals(RunFile& run);

}  // namespace xylem::storage
