#pragma once

// `xylem calibrate`: measures messages between two ranks, and writes a target for `xylem predict`.

#include <iosfwd>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/command_line.h"

namespace CLI {
class App;
}

namespace xylem {

struct CalibrateOptions {
  std::string output;         ///< The target file, which must not exist; "" for none.
  std::string mpi;            ///< The MPI library; "" to look for it.
  std::string disk;           ///< A folder whose disk is measured too; "" for none.
  unsigned repetitions = 50;  ///< Rounds, from 10 to 10,000.
  Nanos limit = 120 * kSecond;
  bool json = false;
};

/// Starts `launcher`, a command such as `mpirun -n 2`, with a program that measures, and prints the
/// result on `out`. Writes the target if all went well. Shows the progress on standard error if
/// that is a terminal.
///
/// Returns kExitSuccess. Returns kExitUsage, and starts nothing, if an option is wrong, `launcher`
/// is empty or the file exists. Returns kExitNotFound or kExitNotExecutable if the launcher cannot
/// be started, kExitSignal + N if signal N has ended the measurement, and kExitFailure if it has
/// failed, if its times cannot be true, or if the file cannot be written. Then there is a sentence
/// on `err`, and no file.
int run_calibrate(const CalibrateOptions& options, const std::vector<std::string>& launcher,
                  std::ostream& out, std::ostream& err);

/// Adds the verb to `app`. `line` and `code` are borrowed until `app` has parsed.
void add_calibrate_command(CLI::App& app, const CommandLine& line, int& code);

}  // namespace xylem
