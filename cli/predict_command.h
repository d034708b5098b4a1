#pragma once

// `xylem predict`: predicts how long a program runs on a machine that a file describes.

#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace xylem {

struct PredictOptions {
  std::string source;  ///< A GOAL file (*.goal), or the list file of a time-independent trace.
  std::string target;  ///< The target as TOML, see predict/target/target.h.
  bool json = false;
  std::string model = "loggps";  ///< Or "analytic", "channels".
  std::string message;           ///< "SRC,DST,BYTES": one message instead of a program.
};

/// Prints the makespan and when ranks end; at most 16 ranks, those that end last. If the target has
/// a topology, also the busiest channels. With `json`, prints one object with all ranks and
/// channels (docs/json.md). With `message`, prints the parts of its time instead. A sentence on
/// `err` says if messages are not received, and if the network is saturated. Returns kExitSuccess.
/// Returns kExitUsage with a sentence on `err` if the target is wrong, or is too small for the
/// ranks, and kExitFailure if the program cannot be read or replayed.
int run_predict(const PredictOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_predict_command(CLI::App& app, int& code);

}  // namespace xylem
