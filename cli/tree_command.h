#pragma once

// `xylem tree`: the overlay of a run, live or finished, from its file.

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
  kCsv,       ///< One row for each process.
  kJson,      ///< An array of processes.
};

struct TreeOptions {
  std::string file;
  TreeFormat format = TreeFormat::kText;
  std::optional<Nanos> at_ns{};     ///< At this time after the run's start; none: now.
  std::optional<Nanos> watch_ns{};  ///< Print it again at this interval until the run ends.
};

/// Prints the tree. With `watch_ns` a terminal shows only the newest one; other outputs get one
/// after the other, with an empty line between. Returns 0; 1 with a sentence on `err` when the file
/// cannot be read, has no tree (at that time), or one that this format cannot express.
int run_tree(const TreeOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand; when it is chosen, parsing runs it and sets `code`, which outlives `app`.
void add_tree_command(CLI::App& app, int& code);

}  // namespace xylem
