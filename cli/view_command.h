#pragma once

// `xylem view`: a run's file as a page and as JSON, over HTTP, until it is interrupted.

#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace xylem {

struct ViewOptions {
  std::string file;                    ///< With `live` the begin of a run's id, or empty.
  bool live = false;                   ///< A run that lives on this host, by its id.
  std::string listen = "127.0.0.1:0";  ///< Numeric address and port; port 0 takes a free one.
  std::string token_file;              ///< Empty: a token that ends with this process.
};

/// Serves until SIGINT, SIGTERM or SIGHUP; once it listens, `out` has the address with the token.
/// Returns 0; 1 with a sentence on `err` when the file is no run, the token's file is refused, or
/// the address cannot be listened on.
int run_view(const ViewOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand; when it is chosen, parsing runs it and sets `code`, which outlives `app`.
void add_view_command(CLI::App& app, int& code);

}  // namespace xylem
