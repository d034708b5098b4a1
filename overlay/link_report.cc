#include "overlay/link_report.h"

namespace xylem::overlay {

wire::LinkReport make_link_report(NodeId node, const Network& network, LinkId upward) {
  const LinkStatus status = network.status(upward);
  wire::LinkReport report;
  report.node = node;
  report.queue_bytes = status.queue_bytes;
  report.sent_bytes = status.sent_bytes;
  report.sent_packets = status.sent_messages;
  report.round_trip_ns = status.round_trip_ns;
  report.offset_ns = status.clock_known ? status.offset_ns : 0;
  report.error_ns = status.clock_known ? status.error_ns : -1;
  report.transport = status.transport;
  report.refused = network.refused();
  return report;
}

}  // namespace xylem::overlay
