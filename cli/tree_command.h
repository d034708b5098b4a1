#pragma once

// `xylem tree`: prints the tree of a run, live or finished. Reads the run's file.

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
  kTopology,  ///< The tree without back ends in MRNet's format, which --topology of a run can read.
  kDot,       ///< Graphviz.
  kCsv,       ///< One row for each process.
  kJson,      ///< One object with all processes.
};

struct TreeCommandOptions {
  std::string file;  ///< Empty: the newest run (Newest::kInFolder).
  TreeFormat format = TreeFormat::kText;
  std::optional<Nanos> at_ns{};     ///< Time after the run's start; nullopt: the newest state.
  std::optional<Nanos> watch_ns{};  ///< Interval at which to print the tree until the run ends.
};

/// Prints the tree. With `watch_ns` a terminal shows only the newest tree; any other output gets
/// all trees, with an empty line between them. Returns 0. Returns 1 with a sentence on `err` when
/// the file cannot be read, or when it has no tree for the requested time. Also returns 1 when the
/// format cannot express the tree.
int run_tree(const TreeCommandOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_tree_command(CLI::App& app, int& code);

}  // namespace xylem
