#pragma once

// A report on the overlay: processes, links and notices. It describes the present or an earlier
// state of the run. Equal notices from several hosts are combined. `xylem tree` and the pages show
// the report.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "storage/read/query.h"

namespace xylem::storage {

struct TreeReport {
  /// State of a node's link to its parent. For the front end, state of the writes to the store.
  struct Link {
    Nanos at_ns = 0;  ///< When the state was reported, in the run's time.
    std::uint64_t queue_bytes = 0;
    /// Number of connections that the node has refused. Always 0 if the report is for an earlier
    /// time, because the history does not have this number.
    std::uint64_t refused = 0;
    /// "unix", "tcp", "tls", or empty if unknown. Always empty if the report is for an earlier
    /// time.
    std::string transport;
    /// Smallest round-trip time of the recent pings. For the front end, duration of the longest
    /// commit in the last second. nullopt: not known yet.
    std::optional<Nanos> round_trip_ns;
    /// Mean number of messages and bytes per second, including pings. If the run has ended and no
    /// time was requested, the mean is over the whole run. Otherwise it is over the last five
    /// seconds, or longer in a tree of more than 166 nodes. nullopt: fewer than two reports are
    /// stored.
    std::optional<double> packets_per_s, bytes_per_s;
  };
  struct Node {
    NodeId id{};
    std::string role, host;
    std::string state;             ///< State as in the table `node`.
    std::optional<NodeId> parent;  ///< nullopt: the node is the front end.
    std::int64_t level = 0;
    std::uint64_t ranks = 0;   ///< Number of ranks of this leaf; 0 for other nodes.
    std::optional<Link> link;  ///< nullopt: the node has never reported.
    /// Time for which an attached node has been silent. Set only if it is at least kSilentAfter,
    /// and only if the run had not ended at the requested time.
    std::optional<Nanos> silent_ns;
    /// The reason why a communication process was placed on its host. Empty: unknown.
    std::string reason{};
    /// The last measurements of a back end's host. The keys are the names of placement/facts.h
    /// ("idle", "cores", ...). Empty if there are no measurements yet, or if hosts are not
    /// measured.
    std::map<std::string, double> facts{};
  };
  /// Equal notices from or about processes of one role, combined.
  struct Notice {
    std::string role, level, text;
    std::vector<std::string> hosts;  ///< Sorted; each host once.
    std::uint64_t times = 0;
  };

  std::string run_id, command;
  Nanos started_realtime_ns = 0;
  bool has_ended = false;  ///< True if the run had ended at the requested time.
  /// Time of the state, in the run's time. If `has_ended` is true, this is the run's end. Otherwise
  /// it is the requested time; if no time was requested, it is the time of the newest report.
  Nanos at_ns = 0;
  std::vector<Node> nodes;            ///< In the order of ids.
  std::vector<Notice> notices;        ///< Errors first, then warnings; each by first occurrence.
  std::uint64_t notices_dropped = 0;  ///< Notices dropped by processes that logged too much.
};

/// Every node, including the front end, reports each second. A node counts as silent if it has not
/// reported for this time while the front end still reports. For an earlier time of the run, the
/// interval between stored reports is added twice.
constexpr Nanos kSilentAfter = 4 * kSecond;

/// Returns the state of the overlay at time `at_ns` of the run; without `at_ns`, the newest state.
/// Nodes that did not exist yet are left out. A file of an older xylem has no history: then the
/// result for every `at_ns` is the newest state, without rates. Fails if the file cannot be read
/// (see RunFile::query). Fails with kNotFound if the file has no front end, or had none at `at_ns`.
Result<TreeReport> make_tree_report(RunFile& run, std::optional<Nanos> at_ns = std::nullopt);

}  // namespace xylem::storage
