#pragma once

// `xylem view`: serves a run's file as a web page and as JSON over HTTP, until it is interrupted.

#include <iosfwd>
#include <string>

#include "cli/known_runs.h"

namespace CLI {
class App;
}

namespace xylem {

struct ViewOptions {
  RunChoice run{};                     ///< Without a file, the newest run (Newest::kLive).
  std::string listen = "127.0.0.1:0";  ///< Numeric address and port; port 0: any free port.
  std::string token_file;  ///< File of the token; empty: a new token, valid for this process only.
};

/// Serves until SIGINT, SIGTERM or SIGHUP. When the server listens, prints its address with the
/// token to `out`. Returns kExitSuccess. Returns kExitFailure with a sentence on `err` when there
/// is no such run, or when the file is not a run. The same holds when the token's file cannot be
/// used, or when the server cannot listen on the address.
int run_view(const ViewOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_view_command(CLI::App& app, int& code);

}  // namespace xylem
