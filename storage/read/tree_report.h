#pragma once

// The state of the overlay, as a value: its processes with their links, now or at a time of the
// run, and their notices, grouped over hosts. Shown by `xylem tree` and pages.

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
  /// State of a node's link to its parent; for the front end: of its writes to the store.
  struct Link {
    Nanos at_ns = 0;  ///< When it was reported, in the run's time.
    std::uint64_t queue_bytes = 0;
    std::uint64_t refused = 0;  ///< Connections that the node has refused; 0 at a past time.
    std::string transport;      ///< "unix", "tcp", "tls", or empty; empty at a past time.
    /// The smallest of the recent pings; for the front end its longest commit of the last second.
    /// None: not known yet.
    std::optional<Nanos> round_trip_ns;
    /// Messages and bytes a second, including pings, over the last five seconds; for a finished run
    /// over all of it. None: fewer than two reports.
    std::optional<double> packets_per_s, bytes_per_s;
  };
  struct Node {
    NodeId id{};
    std::string role, host;
    std::string state;             ///< As in the table `node`.
    std::optional<NodeId> parent;  ///< None: the front end.
    std::int64_t level = 0;
    std::uint64_t ranks = 0;   ///< Ranks of the leaf itself.
    std::optional<Link> link;  ///< None: never reported.
    /// How long an attached node has been silent, if kSilentAfter or longer (while the run lives,
    /// or lived at the requested time).
    std::optional<Nanos> silent_ns;
    /// Why a communication process was placed on its host. Empty: unknown.
    std::string reason{};
    /// A back end's last measurements of its host, by the names in placement/facts.h ("idle",
    /// "cores", ...). Empty: none yet, or hosts are not measured.
    std::map<std::string, double> facts{};
  };
  /// Notices of or about processes of one role; similar lines are one.
  struct Notice {
    std::string role, level, text;
    std::vector<std::string> hosts;  ///< Each once, sorted.
    std::uint64_t times = 0;
  };

  std::string run_id, command;
  Nanos started_realtime_ns = 0;
  bool has_ended = false;             ///< At the requested time.
  Nanos at_ns = 0;                    ///< The run's time of the newest report, or of its end.
  std::vector<Node> nodes;            ///< By id.
  std::vector<Notice> notices;        ///< Errors first, then by the time of the first.
  std::uint64_t notices_dropped = 0;  ///< Dropped by processes that logged too much.
};

/// Nodes and the front end report each second. A node without a report for this long, while the
/// front end still reports, counts as silent.
constexpr Nanos kSilentAfter = 4 * kSecond;

/// The overlay as the file has it now; or, with `at_ns`, at that time of the run. Nodes that
/// did not exist yet are left out. A file of an older xylem has no history: then the result is
/// the newest state, without rates, for every `at_ns`.
/// Fails as RunFile::query does, and with kNotFound when the file has no front end (at that time).
Result<TreeReport> make_tree_report(RunFile& run, std::optional<Nanos> at_ns = std::nullopt);

}  // namespace xylem::storage
