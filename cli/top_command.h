#pragma once

// `xylem top`: shows a run, live or finished, in the terminal. Reads the run's file.

#include <iosfwd>
#include <string>

#include "base/clock.h"
#include "cli/known_runs.h"

namespace CLI {
class App;
}

namespace xylem {

struct TopOptions {
  RunChoice run{};        ///< Without a file, the newest run (Newest::kLive).
  bool once = false;      ///< Print one screen as plain text.
  bool json = false;      ///< Print the data of all panes as one JSON object.
  std::string pane;       ///< The first pane; empty: the overview.
  double interval_s = 1;  ///< Seconds between two updates.
  double recent_s = 0;    ///< At first, show only this many last seconds; 0: the whole run.
};

/// Shows the run until the user quits or a signal arrives. Then restores the terminal. If the
/// output is not a terminal, or if TERM is "dumb" or not set, it behaves as with `once`. The
/// variables COLUMNS and LINES give the size of a plain screen. If they are not set, it has 80
/// columns and all lines. Returns 0. Returns 1 with a sentence on `err` when the file is not a run,
/// or when the run or the terminal cannot be used.
int run_top(const TopOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_top_command(CLI::App& app, int& code);

}  // namespace xylem
