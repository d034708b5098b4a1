#pragma once

// Reads the program of a prediction from the files that a user names.

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "predict/source/run_program.h"
#include "predict/trace/ti_trace.h"

namespace xylem::predict {

struct SourceOptions {
  TiOptions ti{};  ///< Its collectives are those of runs too.
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
