#include "storage/read/run_findings.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/saturating.h"
#include "storage/read/activity_reads_internal.h"
#include "storage/read/host_value.h"
#include "storage/read/run_findings_internal.h"
#include "storage/read/watched_internal.h"
#include "storage/table_keys_internal.h"

namespace xylem::storage {
namespace {

// These functions have the class of MPI_Wtime, so only their names tell them apart.
bool is_start(const std::string& name) {
  return name == "MPI_Init" || name == "MPI_Init_thread" || name == "MPI_Session_init";
}
bool is_end(const std::string& name) {
  return name == "MPI_Finalize" || name == "MPI_Session_finalize";
}

struct FunctionName {
  std::string name;
  bool is_start = false, is_end = false, moves_messages = false;
};

/// Times of a process in MPI.
struct InMpi {
  std::uint64_t start_ns = 0, end_ns = 0, other_ns = 0;
  bool has_ended = false;  ///< A call of MPI_Finalize has returned.
  bool estimated = false;
};

std::unordered_map<FunctionKey, FunctionName> read_names(Inquiry& inquiry) {
  std::unordered_map<FunctionKey, FunctionName> names;
  for (const auto& row : inquiry.ask("SELECT id, name, class FROM function")) {
    const std::string name = text_of(row[1]), of = text_of(row[2]);
    names[id_of<FunctionKey>(row[0])] = {name, is_start(name), is_end(name),
                                         of == "point_to_point" || of == "completion"};
  }
  return names;
}

std::unordered_map<ProcessKey, WorldId> read_worlds(Inquiry& inquiry) {
  std::unordered_map<ProcessKey, WorldId> worlds;
  inquiry.scan("SELECT id, world FROM process WHERE world IS NOT NULL AND rank IS NOT NULL",
               [&](std::span<const Value> row) {
                 worlds[id_of<ProcessKey>(row[0])] = id_of<WorldId>(row[1]);
               });
  return worlds;
}

/// Sums of functions, by process and by world.
std::unordered_map<ProcessKey, InMpi> read_functions(Inquiry& inquiry, Activity& activity) {
  const auto names = read_names(inquiry);
  const auto worlds = read_worlds(inquiry);
  std::unordered_map<ProcessKey, InMpi> processes;
  std::map<std::pair<WorldId, FunctionKey>, FunctionActivity> sums;
  inquiry.scan("SELECT process, function, calls, time_ns, max_ns, estimated FROM function_sum",
               [&](std::span<const Value> row) {
                 const auto world = worlds.find(id_of<ProcessKey>(row[0]));
                 if (world == worlds.end()) return;
                 const auto key = id_of<FunctionKey>(row[1]);
                 const auto known = names.find(key);
                 const FunctionName name =
                     known == names.end() ? FunctionName{"function " + std::to_string(raw(key))}
                                          : known->second;
                 const std::uint64_t time_ns = count_of(row[3]);
                 InMpi& process = processes[world->first];
                 if (name.is_start || name.is_end) {
                   std::uint64_t& sum = name.is_start ? process.start_ns : process.end_ns;
                   sum = saturating_add(sum, time_ns);
                   process.has_ended |= name.is_end && count_of(row[2]) != 0;
                   return;
                 }
                 process.other_ns = saturating_add(process.other_ns, time_ns);
                 process.estimated |= integer_of(row[5]) != 0;
                 FunctionActivity& sum = sums[{world->second, key}];
                 sum.world = world->second;
                 sum.name = name.name;
                 sum.moves_messages = name.moves_messages;
                 sum.calls = saturating_add(sum.calls, count_of(row[2]));
                 sum.time_ns = saturating_add(sum.time_ns, time_ns);
                 sum.max_ns = std::max(sum.max_ns, count_of(row[4]));
                 sum.estimated |= integer_of(row[5]) != 0;
               });
  for (auto& [key, sum] : sums) activity.functions.push_back(std::move(sum));
  return processes;
}

Nanos nanos_of(std::uint64_t ns) {
  return static_cast<Nanos>(
      std::min<std::uint64_t>(ns, static_cast<std::uint64_t>(std::numeric_limits<Nanos>::max())));
}

void read_ranks(Inquiry& inquiry, Activity& activity) {
  const auto in_mpi = read_functions(inquiry, activity);
  const WatchedColumns watched(inquiry);
  // The end of the last call, if all events are stored. Otherwise the end of the window with the
  // last call, which older files do not have.
  const std::string window = inquiry.has_column("process", "called_ns") ? "p.called_ns" : "NULL";
  const std::string called =
      "CASE WHEN p.events > 0 AND p.stored_events = p.events THEN (SELECT max(c.end_ns) FROM"
      " event_chunk c WHERE c.process = p.id) ELSE " +
      window + " END";
  inquiry.scan("SELECT p.id, p.world, p.rank, p.leaf, " + called + ", " + watched.sql() +
                   " FROM process p WHERE p.world IS NOT NULL AND p.rank IS NOT NULL"
                   " AND p.first_ns IS NOT NULL ORDER BY p.world, p.rank, p.id",
               [&](std::span<const Value> row) {
                 const auto found = in_mpi.find(id_of<ProcessKey>(row[0]));
                 const InMpi times = found == in_mpi.end() ? InMpi{} : found->second;
                 const Watched span = WatchedColumns::read(row.subspan(5));
                 RankActivity rank;
                 rank.world = id_of<WorldId>(row[1]);
                 rank.rank = id_of<Rank>(row[2]);
                 rank.leaf = id_of<LeafId>(row[3]);
                 rank.threads = span.threads;
                 rank.mpi_ns = times.other_ns;
                 rank.estimated = times.estimated;
                 rank.begin_ns = saturating_add(span.begin_ns, nanos_of(times.start_ns));
                 rank.end_ns = span.end_ns;
                 if (times.has_ended && !is_null(row[4])) {
                   rank.end_ns = std::min(rank.end_ns, time_of(row[4]));
                 }
                 rank.end_ns = saturating_subtract(rank.end_ns, nanos_of(times.end_ns));
                 activity.ranks.push_back(rank);
               });
}

/// For worlds whose waits are not known. `wait_matrix` has the time of receiving calls.
void estimate_waits(Inquiry& inquiry, const WaitStates* states, Activity& activity) {
  const auto is_estimated = [states](WorldId world) {
    return states == nullptr || !states->knows(world);
  };
  // SQLite takes the bare columns of a max() from the row that has it.
  for (const auto& row :
       inquiry.ask("SELECT world, rank, peer, max(time_ns), calls FROM wait_matrix"
                   " WHERE rank <> peer GROUP BY world, peer")) {
    const auto world = id_of<WorldId>(row[0]);
    if (!is_estimated(world)) continue;
    activity.waits.push_back(
        {world, id_of<Rank>(row[1]), id_of<Rank>(row[2]), count_of(row[3]), count_of(row[4])});
  }
  std::map<WorldId, double> mpi_ns;
  for (const FunctionActivity& function : activity.functions) {
    mpi_ns[function.world] += static_cast<double>(function.time_ns);
  }
  for (const auto& row :
       inquiry.ask("SELECT world, sum(time_ns) FROM wait_matrix GROUP BY world")) {
    const auto world = id_of<WorldId>(row[0]);
    if (!is_estimated(world) || mpi_ns[world] <= 0) continue;
    activity.covered[world] = std::min(1.0, static_cast<double>(count_of(row[1])) / mpi_ns[world]);
  }
}

/// The waits of one rank that have the same root cause.
struct RankWait {
  Nanos time_ns = 0;
  const WaitState* longest = nullptr;
};

/// Of the waits with one root cause, those of the rank that waited longest.
WaitActivity longest_of(const std::map<Rank, RankWait>& by_rank) {
  const auto [rank, longest] =
      *std::ranges::max_element(by_rank, {}, [](const auto& of) { return of.second.time_ns; });
  const WaitState& row = *longest.longest;
  WaitActivity wait{row.world, rank, *row.cause_rank, static_cast<std::uint64_t>(longest.time_ns),
                    row.calls};
  WaitReason reason{row.kind, row.function, *row.root_rank,
                    static_cast<std::uint64_t>(row.time_ns)};
  reason.ranks = by_rank.size();
  for (const auto& [waiter, of] : by_rank) {
    reason.in_all_ns = saturating_add(reason.in_all_ns, static_cast<std::uint64_t>(of.time_ns));
  }
  wait.reason = std::move(reason);
  return wait;
}

void take_wait_states(const WaitStates& states, Activity& activity) {
  std::map<std::pair<WorldId, Rank>, std::map<Rank, RankWait>> by_root;
  for (const WaitState& row : states.rows) {  // The longest first.
    if (!row.root_rank || !row.cause_rank) continue;
    RankWait& wait = by_root[{row.world, *row.root_rank}][row.rank];
    wait.time_ns = saturating_add(wait.time_ns, row.time_ns);
    if (wait.longest == nullptr) wait.longest = &row;
  }
  for (const auto& [root, by_rank] : by_root) activity.waits.push_back(longest_of(by_rank));
  for (const WaitCoverage& world : states.worlds) {
    if (states.knows(world.world)) activity.covered[world.world] = world.share();
  }
}

void read_hosts(Inquiry& inquiry, RunFile& run, Activity& activity) {
  const auto table = host_value_table(run);
  const auto newest =
      newest_host_values(run, "SELECT leaf FROM host", std::numeric_limits<Nanos>::max());
  if (!table || !newest) {
    if (!inquiry.failure) inquiry.failure = table ? newest.error() : table.error();
    return;
  }
  std::map<LeafId, double> cores;
  for (const auto& row :
       inquiry.ask("SELECT leaf, value FROM (" + *newest + ") WHERE name = 'cores'")) {
    if (!is_null(row[1])) cores[id_of<LeafId>(row[0])] = real_of(row[1]);
  }
  for (const auto& row : inquiry.ask("SELECT leaf, name FROM host ORDER BY leaf")) {
    HostActivity host{id_of<LeafId>(row[0]), text_of(row[1]), {}};
    if (const auto known = cores.find(host.leaf); known != cores.end()) host.cores = known->second;
    activity.hosts.push_back(std::move(host));
  }
}

}  // namespace

Activity read_activity(Inquiry& inquiry, const WaitStates* waits) {
  Activity activity;
  read_ranks(inquiry, activity);
  read_messages(inquiry, activity);
  read_slices(inquiry, activity);
  read_turns(inquiry, activity);
  if (waits != nullptr) take_wait_states(*waits, activity);
  estimate_waits(inquiry, waits, activity);
  for (const auto& row :
       inquiry.ask("SELECT world, sum(lost) FROM account WHERE world IS NOT NULL GROUP BY world")) {
    activity.lost.push_back({id_of<WorldId>(row[0]), count_of(row[1])});
  }
  read_hosts(inquiry, inquiry.run(), activity);
  return activity;
}

Result<Findings> read_findings(RunFile& run, const WaitStates* waits) {
  Inquiry inquiry(run);
  const Activity activity = read_activity(inquiry, waits);
  if (inquiry.failure) return unexpected(*std::move(inquiry.failure));
  return make_findings(activity);
}

}  // namespace xylem::storage
