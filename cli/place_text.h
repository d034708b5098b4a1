#pragma once

// A placement for programs: the forms of `xylem place` besides the topology file and its
// explanation (placement/place.h).

#include <span>
#include <string>

#include "placement/place.h"
#include "tree/host.h"

namespace xylem {

/// One JSON object:
///
///   placement        "even", "fuzzy", or "file" where a topology file names the hosts
///   front_end        name of its host
///   comm_processes   {"HOST": N, ...}: how many each host carries, 0 too; alike names as one
///   hosts            by host: host, back_ends, processes, comm_processes, room (null: no limit),
///                    score (null: not fuzzy)
///   nodes            by node, the front end first: id, host, instance, parent (null: none), level,
///                    back_ends (that attach there)
///   fanout           ceil(back ends / internal leaves)
///   topology         the text of the topology file
std::string place_json(const placement::Plan& plan, std::span<const tree::Host> hosts,
                       std::span<const std::uint64_t> room);

/// A graph for Graphviz: processes are ellipses. For each host with back ends, a box below the
/// process to which they attach has their number.
std::string place_dot(const placement::Plan& plan, std::span<const tree::Host> hosts);

}  // namespace xylem
