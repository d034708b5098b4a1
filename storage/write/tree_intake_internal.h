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

/// Like SqliteIntake: used inside a transaction of the caller, who checks the connection's failure.
/// The functions are those of Store with the same names. The state in memory only says when a link
/// was last sampled, so it need not follow a rollback.
class TreeIntake {
 public:
  /// Prepares all statements; failures show in the connection.
  explicit TreeIntake(Connection& connection);

  /// Also writes a row of `node_change` if state, parent or level has changed.
  void put_node(const NodeRow& node);
  void put_clock(const ClockRow& clock);
  /// Writes the newest state of the link. Also keeps it as a sample, if the link's turn has come:
  /// all links together have at most 100 samples per second.
  void put_link(const wire::LinkReport& report, Nanos at_ns);
  void put_host_facts(const wire::HostFacts& host, Nanos at_ns);
  void put_notice(const wire::Notice& notice, Nanos at_ns);
  /// Returns false, and writes nothing, if the leaf is a program: the state of its node says that
  /// it is lost.
  bool put_host_lost(LeafId leaf, const std::string& reason);

 private:
  void keep_sample(const wire::LinkReport& report, Nanos at_ns);

  Statement node_, node_change_, clock_, link_, link_sample_, host_value_, notice_, host_lost_,
      is_program_;
  std::map<NodeId, Nanos> sampled_;  ///< When the last sample of each link was kept.
};

}  // namespace xylem::storage
