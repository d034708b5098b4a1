#pragma once

// `xylem tree`: the overlay of a run, live or finished, as its file tells it.

#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace xylem {

struct TreeOptions {
  std::string file;
  bool topology = false;  ///< The inner tree in MRNet's format, as --topology of a run reads it.
  bool json = false;
};

/// Prints the tree: a line a process, children indented under their parent, with role, host, state,
/// how many back ends and ranks are below it, and how long its link takes there and back. Processes
/// whose parent is not (yet) known come last. Returns 0; 1 with a sentence on `err` when the file
/// cannot be read, tells of no tree, or (with `topology`) of none that can be written so.
int run_tree(const TreeOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand; when it is chosen, parsing runs it and sets `code`, which outlives `app`.
void add_tree_command(CLI::App& app, int& code);

}  // namespace xylem
