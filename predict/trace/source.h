#pragma once

// Reads the program of a prediction from the files that a user names.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "predict/trace/processor_ratio.h"
#include "predict/trace/program.h"
#include "predict/trace/ti_trace.h"

namespace xylem::predict {

/// Reads GOAL if the path ends in ".goal", otherwise the list file of a time-independent trace. The
/// list's names are relative to its folder; a name that is not found there is looked up in the
/// current folder, as SimGrid does.
///
/// Computing in nanoseconds is that of the processor on which the program was recorded, so it is
/// scaled by `processor_ratio` (processor_ratio.h). Computing in flops, and the reductions of
/// collective actions, get the target's time from `options` instead.
///
/// Fails if a file cannot be read, see read_text_file(), or if a reader refuses it. Also fails with
/// kInvalidArgument if the path is the file of a run: runs cannot be replayed yet.
Result<Program> read_program(const std::string& path, const TiOptions& options = {},
                             std::uint64_t processor_ratio = kSameProcessor);

}  // namespace xylem::predict
