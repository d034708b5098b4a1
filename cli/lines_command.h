#pragma once

// `xylem lines`: finds the source lines of a run's calls, if the front end could not.

#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace xylem {

struct LinesOptions {
  std::string file;                ///< Empty: the newest run in this folder.
  std::vector<std::string> paths;  ///< "FROM=TO" each; see storage::PathChange.
};

/// Stores the lines of all call sites that have none yet, and prints how many have one. A sentence
/// on `err` names each program or library that could not be used. Returns kExitSuccess then too.
/// Returns kExitUsage if an element of `paths` is not FROM=TO, and kExitFailure with a sentence if
/// the file is no run or cannot be written.
int run_lines(const LinesOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_lines_command(CLI::App& app, int& code);

}  // namespace xylem
