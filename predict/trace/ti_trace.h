#pragma once

// Time-independent traces, the text format of SimGrid's SMPI. Each line is an action of a rank:
//
//   0 init
//   0 compute 1000
//   0 isend 1 3 8
//   0 irecv 1 4 8
//   0 wait 1 0 4
//   0 waitall
//   0 finalize
//
// `send` and `isend` have destination, tag, number of elements and type; `recv` and `irecv` have
// the source instead. Without type, elements are bytes, or doubles if `init` has an argument.
// `compute` has flops, `sleep` has seconds. `wait` names a request by source, destination and tag:
// the oldest one that is not complete. `test` does nothing, since a `wait` follows if it failed.
// Actions of communicators and positions in the source are ignored. Collective actions, for example
// `0 bcast 1000 0 6` with number of elements, root and type, are those of all ranks. They become
// the messages of an algorithm (collective_messages.h).
//
// A trace is one file with all ranks, or one file per rank. A list file names them, one a line.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "predict/collectives/choice.h"
#include "predict/trace/program.h"

namespace xylem::predict {

/// A file of a trace: its name in error messages, and its text.
struct TiFile {
  std::string name;
  std::string_view text;
};

/// Flops of one nanosecond of computing, unless the caller knows better.
constexpr double kDefaultFlopsPerNs = 1;

struct TiOptions {
  double flops_per_ns = kDefaultFlopsPerNs;
  CollectiveModel collectives;
  /// Maximum number of operations that collective actions may make, since a short line can make
  /// many: a program of so many takes 24 GB.
  std::uint64_t max_collective_operations = 1'000'000'000;
};

/// Reads a program. With one file, it has all ranks; with several, file r has rank r. An immediate
/// operation starts when the previous operation allows; the next one starts after its start. A wait
/// is computing for 0 ns that requires the operations it waits for.
///
/// Fails with kInvalidArgument and "NAME:LINE: what, and what to do" if the text is not a trace, if
/// a rank is missing or out of range, if an action is not known, if a wait finds no request, if
/// collective actions make too many operations, and if a trace with collective actions has a tag
/// from kFirstCollectiveTag on.
Result<Program> parse_ti(std::span<const TiFile> files, const TiOptions& options = {});

/// The files that a list names, one a line, without blanks around the names. Empty lines do not
/// count. Fails with kInvalidArgument if there is no name, or if a line has control characters (it
/// is then not a list of files).
Result<std::vector<std::string>> parse_ti_list(std::string_view text, std::string_view name);

/// Returns the program as one trace of all ranks; one flop is one nanosecond. Fails with
/// kInvalidArgument and names rank and operation if a trace cannot express it: all operations of a
/// rank on CPU 0 and NIC 0, one after the other, where only sends and receives may be immediate,
/// and waits wait for one request or for all.
Result<std::string> print_ti(const Program& program);

}  // namespace xylem::predict
