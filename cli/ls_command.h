#pragma once

// `xylem ls`: lists runs: the files in a folder, and the live runs of this user on this host.

#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace xylem {

struct LsOptions {
  std::string folder = ".";
  bool json = false;
};

/// Prints one line for each run, the run that started last first. A live run is listed wherever its
/// file is. With `json`, prints one object (docs/json.md). Returns kExitSuccess, also if there is
/// no run; then a sentence on `err` says so. Returns kExitFailure with a sentence on `err` when the
/// folder cannot be read.
int run_ls(const LsOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_ls_command(CLI::App& app, int& code);

}  // namespace xylem
