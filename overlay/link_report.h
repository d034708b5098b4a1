#pragma once

// How a node's link to its parent does, as every node tells it to the front end.

#include "base/ids.h"
#include "overlay/node.h"
#include "wire/message.h"

namespace xylem::overlay {

/// The report of `node` on its link `upward`, with the connections that it has turned away.
wire::LinkReport make_link_report(NodeId node, const Network& network, LinkId upward);

}  // namespace xylem::overlay
