#pragma once

// The overlay as text: for people, as a topology file, as a drawing.

#include <string>

#include "base/result.h"
#include "storage/read/tree_report.h"

namespace xylem {

/// A heading with the run; one line per process, children indented under their parent, with state,
/// ranks here and below, and its link (for the front end: its writes to the store). Processes
/// whose parent is unknown come last. Then the last measurements of each host; why communication
/// processes are on their hosts; and problems, with hosts as lists: which processes are lost,
/// silent or slow; and their log lines, similar ones once.
std::string tree_text(const storage::TreeReport& report);

/// The front end and the communication processes that are not lost, as a topology file:
/// `--topology` of a run reads it. A lost one stays if others are still below it. Fails with
/// kInvalidArgument when a host's name is invalid in a topology.
Result<std::string> tree_topology(const storage::TreeReport& report);

/// A directed graph in the language of Graphviz, links from parent to child; `dot -Tsvg` draws it.
std::string tree_dot(const storage::TreeReport& report);

}  // namespace xylem
