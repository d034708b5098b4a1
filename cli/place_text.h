#pragma once

// Two output formats of `xylem place`: JSON and Graphviz. placement/place.h has the topology file
// and the explanation.

#include <span>
#include <string>

#include "placement/place.h"
#include "tree/host.h"

namespace xylem {

/// One JSON object:
///
///   placement        "even", "fuzzy", or "file" if a topology file names the hosts
///   front_end        name of the front end's host
///   comm_processes   {"HOST": N, ...}: number of communication processes on each host, 0 included;
///                    hosts with the same name are added up
///   hosts            for each host: host, back_ends, processes, comm_processes, room (null: no
///                    limit), score (null: not fuzzy)
///   nodes            for each node, the front end first: id, host, instance, parent (null: none),
///                    level, back_ends (number of its children that are back ends)
///   fanout           ceil(back ends / internal leaves)
///   topology         the text of the topology file
std::string place_json(const placement::Plan& plan, std::span<const tree::Host> hosts,
                       std::span<const std::uint64_t> room);

/// A graph for Graphviz. Processes are ellipses. If several back ends of a host attach to the same
/// process, they are one box below that process. The box shows the number of the back ends.
std::string place_dot(const placement::Plan& plan, std::span<const tree::Host> hosts);

}  // namespace xylem
