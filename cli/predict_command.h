#pragma once

// `xylem predict`: predicts how long a program runs on a machine that a file describes.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "cli/predict_program.h"

namespace CLI {
class App;
}

namespace xylem {

struct PredictOptions {
  /// The file of a run, a GOAL file (*.goal), or the list file of a time-independent trace. "" with
  /// a synthesis.
  std::string source;
  /// The target as TOML, see predict/target/target.h. May be "" if the program is only written.
  std::string target;
  bool json = false;
  std::string model = "loggps";  ///< Or "analytic", "channels".
  std::string message;           ///< "SRC,DST,BYTES": one message instead of a program.
  /// "RANK,PATH,OFFSET,BYTES": accesses to files instead of a program, first all writes.
  std::vector<std::string> writes{}, reads{};
  std::optional<WorldId> world{};  ///< Of a run.
  std::string timeline{};          ///< The file for timelines (predict_timeline.h), or "".
  SynthesisOptions synthesis{};    ///< Instead of a source.
  ProgramFiles files{};
};

/// Prints the makespan, when ranks end, and how long they run, are blocked and are ready; at most
/// 16 ranks, those that end last. If the target has a topology, also the busiest channels. With
/// `json`, prints one object with all ranks and channels (docs/json.md). With `message`, `writes`
/// or `reads`, prints the parts of their times instead. A sentence on `err` says if messages are
/// not received, and if the network is saturated. Writes the program's files before the replay;
/// without a target, does nothing else. On a terminal, shows how far a long replay is. If SIGINT,
/// SIGTERM or SIGHUP comes during the replay, returns kExitSignal + its number, prints nothing, and
/// leaves no incomplete file. Returns kExitSuccess. Returns kExitUsage with a sentence on `err`,
/// and writes no file, if the target or an option is wrong, or if the target is too small for the
/// ranks, and kExitFailure if the program cannot be read, written or replayed.
int run_predict(const PredictOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_predict_command(CLI::App& app, int& code);

}  // namespace xylem
