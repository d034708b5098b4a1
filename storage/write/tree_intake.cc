#include <optional>

#include "storage/write/tree_intake_internal.h"

namespace xylem::storage {
namespace {

/// Maximum for all links together. An hour of a thousand hosts takes 20 MB.
constexpr Nanos kSamplesPerSecond = 100;

}  // namespace

TreeIntake::TreeIntake(Connection& c)
    : node_(c, "INSERT OR REPLACE INTO node VALUES(?,?,?,?,?,?,?,?,?,nullif(?,''))"),
      node_change_(c,
                   "INSERT INTO node_change SELECT ?1,?2,?3,?4,?5 WHERE NOT EXISTS (SELECT 1"
                   " FROM node WHERE id = ?2 AND state = ?3 AND parent IS ?4 AND level = ?5)"),
      clock_(c, "INSERT INTO clock VALUES(?,?,?,?)"),
      link_(c,
            "INSERT INTO link VALUES(?1,?2,?3,?3,?4,?5,?6,?7,?8,?9,nullif(?10,'')) ON CONFLICT "
            "DO UPDATE SET"
            " at_ns = ?2, queue_bytes = ?3, most_queue_bytes = max(most_queue_bytes, ?3),"
            " sent_bytes = ?4, sent_packets = ?5, round_trip_ns = ?6, offset_ns = ?7,"
            " error_ns = ?8, refused = ?9, transport = excluded.transport"),
      link_sample_(c, "INSERT OR REPLACE INTO link_sample VALUES(?,?,?,?,?,?)"),
      host_value_(c, "INSERT INTO host_value VALUES(?,?,?,?)"),
      notice_(c, "INSERT INTO notice VALUES(?,?,?,?,?,?,?)"),
      host_lost_(
          c,
          "INSERT INTO host(leaf, lost_reason) VALUES(?,nullif(?,'')) ON CONFLICT DO UPDATE SET"
          " lost_reason = excluded.lost_reason"),
      is_program_(c, "SELECT 1 FROM node WHERE leaf = ? AND role = 'program'") {}

void TreeIntake::put_node(const NodeRow& node) {
  std::optional<NodeId> parent;
  if (node.id != kFrontEndNode) parent = node.parent;
  std::optional<LeafId> leaf;
  if (node.leaf != wire::kNoLeaf) leaf = node.leaf;
  node_change_.run(node.at_ns, node.id, node.state, parent, node.level);
  node_.run(node.id, wire::role_name(node.role), node.host, parent, node.level, node.pid, leaf,
            node.state, node.host_key, node.reason);
}

void TreeIntake::put_clock(const ClockRow& clock) {
  clock_.run(clock.leaf, clock.at_ns, clock.offset_ns, clock.error_ns);
}

void TreeIntake::put_link(const wire::LinkReport& report, Nanos at_ns) {
  std::optional<Nanos> offset, error;
  if (report.error_ns >= 0) {
    offset = report.offset_ns;
    error = report.error_ns;
  }
  link_.run(report.node, at_ns, report.queue_bytes, report.sent_bytes, report.sent_packets,
            report.round_trip_ns, offset, error, report.refused,
            wire::transport_name(report.transport));
  keep_sample(report, at_ns);
}

// In a large tree, each node's samples are kept less often, so the history stays small.
void TreeIntake::keep_sample(const wire::LinkReport& report, Nanos at_ns) {
  const auto [last, is_first] = sampled_.try_emplace(report.node, at_ns);
  const Nanos interval = static_cast<Nanos>(sampled_.size()) * kSecond / kSamplesPerSecond;
  if (!is_first && at_ns - last->second < interval) return;
  last->second = at_ns;
  link_sample_.run(report.node, at_ns, report.queue_bytes, report.sent_bytes, report.sent_packets,
                   report.round_trip_ns);
}

void TreeIntake::put_host_facts(const wire::HostFacts& host, Nanos at_ns) {
  for (const wire::HostFact& fact : host.facts) {
    host_value_.run(host.leaf, at_ns, fact.name, fact.value);
  }
}

void TreeIntake::put_notice(const wire::Notice& notice, Nanos at_ns) {
  notice_.run(at_ns, notice.host, wire::role_name(notice.role), notice.pid,
              notice.error ? "error" : "warning", notice.text, notice.dropped);
}

bool TreeIntake::put_host_lost(LeafId leaf, const std::string& reason) {
  const bool is_program = is_program_.first(leaf);
  is_program_.reset();
  if (!is_program) host_lost_.run(leaf, reason);
  return !is_program;
}

}  // namespace xylem::storage
