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
    /// Smallest of the recent pings; of the front end: its longest commit of the last second. None:
    /// not known yet.
    std::optional<Nanos> round_trip_ns;
    /// Messages and bytes a second, the link's own pings among them, over the last five seconds, or
    /// of an ended run as a whole. None: fewer than two reports.
    std::optional<double> packets_per_s, bytes_per_s;
  };
  struct Node {
    NodeId id{};
    std::string role, host;
    std::string state;             ///< As in the table `node`.
    std::optional<NodeId> parent;  ///< None: the front end.
    std::int64_t level = 0;
    std::uint64_t ranks = 0;   ///< Of the leaf itself.
    std::optional<Link> link;  ///< None: never reported.
    /// How long an attached node has been silent, if kSilentAfter or longer (while the run lives,
    /// or lived at the requested time).
    std::optional<Nanos> silent_ns;
    /// Of a communication process: why it was placed on its host. Empty: not known.
    std::string reason{};
    /// Of a back end: what it last measured of its host, by the names of placement/facts.h ("idle",
    /// "cores", ...). Empty: nothing yet, or hosts are not measured.
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
  bool has_ended = false;   ///< By the time asked for.
  Nanos at_ns = 0;          ///< The run's time that this shows: of the newest report, or its end.
  std::vector<Node> nodes;  ///< By id.
  std::vector<Notice> notices;        ///< Errors first, then by the time of the first.
  std::uint64_t notices_dropped = 0;  ///< By processes that had too much to say.
};

/// Nodes report each second, and so does the front end: this many seconds without a report, while
/// the front end goes on, are no accident.
constexpr Nanos kSilentAfter = 4 * kSecond;

/// The overlay as the file has it now; or, with `at_ns`, as it stood then in the run's time.
/// Nodes that were not there yet are left out. A file of an older xylem has no past: the newest
/// state is given whatever `at_ns` says, without rates.
/// Fails as RunFile::query does, and with kNotFound when the file tells of no front end (by then).
Result<TreeReport> make_tree_report(RunFile& run, std::optional<Nanos> at_ns = std::nullopt);

}  // namespace xylem::storage
