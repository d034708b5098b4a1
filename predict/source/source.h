#pragma once

// Reads the program of a prediction from the files that a user names.

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "predict/source/run_program.h"
#include "predict/trace/processor_ratio.h"
#include "predict/trace/ti_trace.h"

namespace xylem::predict {

struct SourceOptions {
  TiOptions ti{};  ///< Its collectives are those of runs too.
  /// How much faster the target's core is than the one on which the program was recorded
  /// (trace/processor_ratio.h). Only for computing in nanoseconds: of runs, and of GOAL. Computing
  /// in flops gets the target's time from `ti`.
  std::uint64_t processor_ratio = kSameProcessor;
  /// Which MPI_COMM_WORLD of a run. Only for runs.
  std::optional<WorldId> world{};
};

/// Reads the file of a run if it is one, GOAL if the path ends in ".goal", otherwise the list file
/// of a time-independent trace. The list's names are relative to its folder; a name that is not
/// found there is looked up in the current folder, as SimGrid does.
///
/// Fails if a file cannot be read, see RunFile::open() and read_text_file(), or if a reader refuses
/// it. Also fails with kInvalidArgument if there is a world for anything else than a run.
Result<SourceProgram> read_program(const std::string& path, const SourceOptions& options = {});

}  // namespace xylem::predict
