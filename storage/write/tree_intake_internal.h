#pragma once

// The part of the store in a file that writes the state of the tree as rows: nodes, links, clocks,
// measurements of hosts, notices.

#include <map>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "storage/sqlite_internal.h"
#include "storage/write/store.h"
#include "wire/message.h"

namespace xylem::storage {

/// Call the functions inside a transaction; the caller checks the connection's failure. Each
/// function does what the function of Store with the same name says. The only state in memory is
/// the time of each link's last sample, so nothing in memory must be undone after a rollback.
/// Called on the thread that calls the store.
class TreeIntake {
 public:
  /// Prepares all statements. If this fails, the connection keeps the failure.
  explicit TreeIntake(Connection& connection);

  /// Also writes a row of the table `node_change` if state, parent or level has changed.
  void put_node(const NodeRow& node);
  void put_clock(const ClockRow& clock);
  /// Writes the newest state of the link. Also keeps this state as a sample, if the last sample of
  /// the link is old enough. All links together have at most 100 samples per second.
  void put_link(const wire::LinkReport& report, Nanos at_ns);
  void put_host_facts(const wire::HostFacts& host, Nanos at_ns);
  void put_notice(const wire::Notice& notice, Nanos at_ns);
  /// Returns false and writes nothing if the leaf is a program. For a program, the node's state
  /// says that it is lost.
  bool put_host_lost(LeafId leaf, const std::string& reason);

 private:
  void keep_sample(const wire::LinkReport& report, Nanos at_ns);

  Statement node_, node_change_, clock_, link_, link_sample_, host_value_, notice_, host_lost_,
      is_program_;
  std::map<NodeId, Nanos> sampled_;  ///< When the last sample of each link was kept.
};

}  // namespace xylem::storage
