#pragma once

// `xylem tree`: the overlay of a run, live or finished, as its file tells it.

#include <iosfwd>
#include <optional>
#include <string>

#include "base/clock.h"

namespace CLI {
class App;
}

namespace xylem {

enum class TreeFormat {
  kText,      ///< For people; see cli/tree_text.h.
  kTopology,  ///< The inner tree in MRNet's format, as --topology of a run reads it.
  kDot,       ///< Graphviz.
  kCsv,       ///< A row a process.
  kJson,      ///< An array of processes.
};

struct TreeOptions {
  std::string file;
  TreeFormat format = TreeFormat::kText;
  std::optional<Nanos> at_ns{};     ///< As it stood so long after the run's start; none: now.
  std::optional<Nanos> watch_ns{};  ///< Again each time so long has passed, until the run ends.
};

/// Prints the tree. With `watch_ns` a terminal shows the newest one only; elsewhere they follow
/// each other, an empty line between. Returns 0; 1 with a sentence on `err` when the file cannot be
/// read, tells of no tree (at that time), or of none that can be written so.
int run_tree(const TreeOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand; when it is chosen, parsing runs it and sets `code`, which outlives `app`.
void add_tree_command(CLI::App& app, int& code);

}  // namespace xylem
