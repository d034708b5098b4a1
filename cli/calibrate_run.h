#pragma once

// Runs the measurement of `xylem calibrate`: the user's launcher with the program xylem-calibrate.

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "predict/calibration/samples.h"

namespace xylem {

struct CalibrateTask {
  /// The launcher with its options, for example {"mpirun", "-n", "2"}. Not empty.
  std::vector<std::string> launcher;
  std::string mpi;            ///< --mpi; "" to look for the library.
  std::string disk;           ///< --disk; "" for none.
  unsigned repetitions = 50;  ///< Rounds.
  Nanos limit = 0;            ///< At least a second.
};

struct CalibrateHow {
  /// Called when something was reported, with the percent that is done.
  std::function<void(unsigned percent)> progress;
  /// The number of the signal that has ended the measurement, or 0.
  int signal = 0;
};

/// Runs the measurement to its end. The launcher runs in a session of its own, with no input; its
/// standard error is ours. What it prints on standard output besides the report goes to our
/// standard error.
///
/// SIGINT, SIGTERM, SIGHUP and SIGQUIT end the launcher: it gets SIGTERM, and SIGKILL if it is
/// still there after 5 s; so do all processes of its session. Ranks that no signal reaches end by
/// themselves soon after the limit. When this function returns, the launcher has ended. The signals
/// stay blocked in this thread.
///
/// Fails with a sentence and
///   kNotFound, kPermissionDenied, kExhausted  the launcher cannot be started,
///   kInternal      the program xylem-calibrate is missing,
///   kTimedOut      the limit was reached,
///   kUnavailable   the program has reported an error, or has ended without a result, or a signal
///                  has come (how.signal),
///   kCorrupt       the report cannot be read.
Result<predict::Samples> run_calibration(const CalibrateTask& task, CalibrateHow& how);

}  // namespace xylem
