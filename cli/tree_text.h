#pragma once

// The overlay as text: for people, as a topology file, as a drawing.

#include <string>

#include "base/result.h"
#include "storage/read/tree_report.h"

namespace xylem {

/// A heading with the run; one line per process, children indented under their parent, with state,
/// ranks here and below, and how its link does (of the front end: its way into the store);
/// processes whose parent is not (yet) known after them. Then what each host last measured of
/// itself; why communication processes are on their hosts; and what wants attention, hosts gathered
/// into lists: who is lost, silent, or slow; and what processes have said, alike sentences once.
std::string tree_text(const storage::TreeReport& report);

/// The front end and the communication processes that are not lost, as a topology file:
/// `--topology` of a run reads it. A lost one stays where others are still below it. Fails with
/// kInvalidArgument when a host's name cannot stand there.
Result<std::string> tree_topology(const storage::TreeReport& report);

/// A directed graph in the language of Graphviz, links from parent to child; `dot -Tsvg` draws it.
std::string tree_dot(const storage::TreeReport& report);

}  // namespace xylem
