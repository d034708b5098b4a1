#pragma once

// `xylem top`: a run in the terminal, live or finished, from its file.

#include <iosfwd>
#include <string>

#include "base/clock.h"

namespace CLI {
class App;
}

namespace xylem {

struct TopOptions {
  std::string file;       ///< With `live` the begin of a run's id, or empty.
  bool live = false;      ///< A run in progress on this host.
  bool once = false;      ///< Only one screen, as plain text.
  bool json = false;      ///< The same as one JSON object.
  std::string pane;       ///< To begin with; empty: the overview.
  double interval_s = 1;  ///< Time between two updates.
  double recent_s = 0;    ///< Begin with only this many last seconds; 0: the whole run.
};

/// Shows the run until a key or a signal ends it, and restores the terminal.
/// If standard output is not a terminal, or a terminal without control codes (TERM is "dumb" or not
/// set), it behaves as with `once`: with COLUMNS x LINES if they are set, else 80 columns and all
/// lines. Returns 0; 1 with a sentence on `err` when the file is not a run.
int run_top(const TopOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand; when it is chosen, parsing runs it and sets `code`, which outlives `app`.
void add_top_command(CLI::App& app, int& code);

}  // namespace xylem
