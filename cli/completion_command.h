#pragma once

// `xylem completion`: prints a script that completes xylem's command line in a shell.

namespace CLI {
class App;
}

namespace xylem {

/// Adds the subcommand to `app`, after all other verbs. The script has all verbs of `app`. `code`
/// must outlive `app`.
void add_completion_command(CLI::App& app, int& code);

}  // namespace xylem
