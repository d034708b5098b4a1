#pragma once

// The report on the link to the parent that every node sends to the front end.

#include "base/ids.h"
#include "overlay/node.h"
#include "wire/message.h"

namespace xylem::overlay {

/// The report of `node` on its link `upward`, with the number of connections that it refused.
wire::LinkReport make_link_report(NodeId node, const Network& network, LinkId upward);

}  // namespace xylem::overlay
