#pragma once

// Makes the reports that every node sends to the front end. A report is about the link to the
// node's parent.

#include "base/ids.h"
#include "overlay/node.h"
#include "wire/message.h"

namespace xylem::overlay {

/// Returns the report of `node` about its link `upward`. The report includes the number of
/// connections that the process has refused.
wire::LinkReport make_link_report(NodeId node, const Network& network, LinkId upward);

}  // namespace xylem::overlay
