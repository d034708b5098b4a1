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
#include "storage/read/query.h"

namespace xylem::storage {

/// How many lines each list may have.
struct ReportLimits {
  std::size_t worlds = 20;  ///< With their shares; those whose ranks spent the most time in MPI.
  std::size_t functions = 15;
  std::size_t inexact_ranks = 20;
  std::size_t ranks = 16;  ///< Of a world with more, half so many of either end are shown.
  std::size_t waits = 10;
  std::size_t losses = 20;
  std::size_t notices = 10;
  std::size_t alerts = 10;
  std::size_t host_loads = 16;  ///< 0 spares opening every sample of the service `host`.
};

struct Report {
  struct Run {
    std::string run_id, command, directory, user, host, version, detail;
    Nanos started_realtime_ns = 0;
    std::optional<Nanos> elapsed_ns;  ///< None: it has not ended, or its front end died.
    std::optional<int> exit_code;
    std::uint64_t hosts = 0;  ///< Run folders: two containers of a node are two.
    std::vector<std::string> mpi_libraries;
  };
  struct World {
    WorldId id{};
    std::string program;
    std::uint64_t size = 0;  ///< As its processes say.
    std::uint64_t registered = 0;
    std::string clock = {};  ///< Of its times; empty: the run's.
  };
  /// Sums over ranks, in calls. `captured` == `stored` + `lost` in every complete line.
  struct Account {
    std::uint64_t ranks = 0, complete_ranks = 0;
    std::uint64_t captured = 0, stored = 0, lost = 0;
    std::uint64_t lost_of_unknown_ranks = 0;  ///< Of windows whose ranks cannot be told.
    std::vector<AccountLine> inexact;         ///< Not complete, or something lost; worst first.
    std::uint64_t inexact_ranks = 0;          ///< How many there are in all.
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
    double share = 0;        ///< Of the time in MPI, 0 to 1.
    bool estimated = false;  ///< Not all of its calls were timed.
  };
  /// A rank's time in MPI over its span: from its first to its last event where all are stored,
  /// else from the first to the last window in which it called. Several threads add up.
  struct RankShare {
    Rank rank{};
    Nanos mpi_ns = 0, span_ns = 0;
    bool estimated = false;  ///< A function in mpi_ns is.
    double share() const;
  };
  struct WorldShare {
    WorldId world{};
    std::uint64_t ranks = 0;
    RankShare least, most;
    double mean = 0;               ///< Of the ranks' shares.
    bool estimated = false;        ///< The share of some rank is.
    double mpi_imbalance = 0;      ///< max / mean - 1 of the ranks' time in MPI.
    double other_imbalance = 0;    ///< max / mean - 1 of the ranks' time outside of it.
    std::vector<RankShare> shown;  ///< By rank when all are; else lowest shares, then highest.
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
    /// How many such losses; 0: one of all windows, or chunks, that never came of a lost host.
    std::uint64_t count = 0;
    std::optional<std::uint64_t> calls;  ///< None: not known, or the part is not counted in calls.
    std::optional<std::uint64_t> messages, bytes;  ///< Of "message"; "receive" has no bytes.
  };
  /// An auxiliary service over all hosts, in samples.
  struct Service {
    std::string name;
    std::uint64_t back_ends = 0, complete = 0;  ///< That took samples; whose account is complete.
    std::uint64_t captured = 0, stored = 0, lost = 0;
    /// Of one without samples: the newest notice about it, or that there is none.
    std::string why = {};
  };
  /// A stream that the configuration names, over all leaves that sent on it, in waves of leaves.
  struct Stream {
    std::string name;
    std::uint64_t leaves = 0, complete = 0;  ///< That sent; whose account is complete.
    std::uint64_t sent = 0, stored = 0, lost = 0;
    std::uint64_t waves = 0;  ///< Numbers of which something is stored.
  };
  /// How busy a host was while its service `host` measured, on average.
  struct HostLoad {
    std::string host;
    double processors_busy = 0;
    double load = 0;                   ///< Of one minute.
    double least_available_bytes = 0;  ///< Memory; not the average.
    std::uint64_t samples = 0;
  };
  /// What processes of the tree logged, alike lines of a host as one.
  struct Notice {
    std::string host, role, level, text;
    std::uint64_t times = 0;
  };

  /// What rules over windows found (docs/alerts.md).
  struct Alert {
    Nanos at_ns = 0;
    std::optional<Nanos> until_ns;  ///< None: it still is so.
    std::string kind, text;
    double value = 0, threshold = 0;
  };

  Run run;
  std::vector<World> worlds;  ///< By id.
  std::uint64_t worlds_in_all = 0;
  Account account;
  EventAccount events;
  Nanos mpi_ns = 0;                  ///< Of all ranks.
  bool mpi_estimated = false;        ///< A function in it is: so are all shares of it.
  std::vector<Function> functions;   ///< By time.
  std::vector<Service> services;     ///< By name; none without a configuration that names them.
  std::vector<Stream> streams;       ///< By name; none without a configuration that names them.
  std::vector<HostLoad> host_loads;  ///< The busiest first.
  std::uint64_t functions_in_all = 0;
  std::vector<WorldShare> shares;  ///< Of the `worlds` whose ranks called, by id.
  std::vector<Wait> waits;         ///< By time.
  std::vector<Loss> losses;
  std::vector<Notice> notices;  ///< Errors first, then by time.
  std::uint64_t notices_in_all = 0;
  std::uint64_t notices_dropped = 0;  ///< By processes that had too much to say.
  std::vector<Alert> alerts;          ///< Those that still are so first, then by time.
  std::uint64_t alerts_in_all = 0;
  std::vector<std::string> faults;  ///< Of verify_totals; sentences. Empty: none, or not asked.
};

/// Fails as RunFile::query does.
Result<Report> make_report(RunFile& run, const ReportLimits& limits = {});

/// Recomputes the store's running totals from every stored window and chunk, and lists differences;
/// empty if there are none. Reads all of the file. Fails as RunFile::query.
Result<std::vector<std::string>> verify_totals(RunFile& run);

}  // namespace xylem::storage
