#pragma once

// Every node sends reports about the link to its parent to the front end.

#include "base/ids.h"
#include "overlay/node.h"
#include "wire/message.h"

namespace xylem::overlay {

/// Returns the report of `node` about its link `upward`. The report includes the number of
/// connections that the process has refused.
wire::LinkReport make_link_report(NodeId node, const Network& network, LinkId upward);

}  // namespace xylem::overlay
