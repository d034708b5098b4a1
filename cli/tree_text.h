#pragma once

// The tree of a run as text for people, as a topology file, and as a graph.

#include <string>

#include "base/result.h"
#include "storage/read/tree_report.h"

namespace xylem {

/// The tree as text, in this order:
///
/// - a heading with the run;
/// - a line for each process, indented under its parent. It shows the state, the number of ranks of
///   this process and of all processes below it, and the link to the parent. The line of the front
///   end shows the writes to the store instead of a link. Processes whose parent is unknown come
///   last;
/// - the newest measurements of each host;
/// - the reasons why communication processes are on their hosts;
/// - problems: the lost, silent and slow processes;
/// - log lines of processes. Similar lines are printed once, with a list of their hosts.
std::string tree_text(const storage::TreeReport& report);

/// The front end and the communication processes as a topology file, which `--topology` of a run
/// can read. Leaves out lost processes, but keeps a lost process that still has communication
/// processes below it. Fails with kInvalidArgument when a host's name is invalid in a topology.
Result<std::string> tree_topology(const storage::TreeReport& report);

/// A directed graph for Graphviz, with edges from parent to child; `dot -Tsvg` draws it.
std::string tree_dot(const storage::TreeReport& report);

}  // namespace xylem
