#pragma once

// Makes a program from a run that was recorded with a whole trace (xylem run --detail trace).
//
// What becomes an operation:
// - The time between two calls of a thread is computing, less what capture has added to the calls
//   (view `record_cost`). The service `process` measures once a second how long the rank's first
//   thread waited for a processor (scheduler.wait). As far as this is longer than the time that the
//   rank spent in MPI in this second, it was not in MPI, and is subtracted too. Local calls, such
//   as MPI_Pack or MPI_Comm_rank, are computing too. Blocking calls about files keep the time that
//   they took, whatever the processor.
// - A message keeps the sender, receiver and size that MPI has matched. Receives have no wildcards:
//   the replay repeats the matches of the run. Tags on other communicators than MPI_COMM_WORLD get
//   other numbers, since a program has no communicators.
// - A wait, and a test that found something, wait for the operations that they completed. A probe
//   does nothing; the receive waits for its message.
// - A loop that tests or probes without success is waiting, not computing, as long as it does
//   less than kMaxPollTurn between two tests. If tests are sampled, short loops are not noticed.
// - A collective call becomes the messages of an algorithm that the target chooses, not of the one
//   that the recording MPI took. One that does not block runs beside the rank's other operations.
// - A thread has a CPU of its own. It starts after the call that the rank's first thread made last.
//   MPI_Finalize waits for all threads. How threads otherwise wait for each other is not recorded.
//
// A program begins when a rank leaves MPI_Init and ends in MPI_Finalize. Other calls, for example
// those that make communicators, take no time.
//
// The source of the rules: SimHPC, Table 1 (requirements H9 to H14). Section 10 of the design says
// what counts as computing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "predict/collectives/choice.h"
#include "predict/trace/processor_ratio.h"
#include "predict/trace/program.h"
#include "storage/read/query.h"

namespace xylem::predict {

/// A rank that does at least so much between two tests without success is computing.
constexpr Nanos kMaxPollTurn = 1 * kMicrosecond;

/// Maximum number of operations of a program that is made from a run.
constexpr std::uint64_t kMaxOperationsOfRun = 1'000'000'000;

struct RunOptions {
  /// Which MPI_COMM_WORLD. May be left out if the run has only one.
  std::optional<WorldId> world{};
  CollectiveModel collectives{};
  /// How much faster the target's core is than that of the run (trace/processor_ratio.h).
  std::uint64_t processor_ratio = kSameProcessor;
};

/// A program, and what its maker had to assume.
struct SourceProgram {
  Program program;
  std::vector<std::string> assumptions;  ///< Sentences without a full stop. May be empty.
};

/// Reads the events of a world. `run` belongs to the calling thread; it is held meanwhile. Needs
/// memory for the program, while it reads about twice as much, and 8 bytes for each block of
/// collectives with blocks of different sizes.
///
/// Fails with kInvalidArgument, a reason and what to do: if the run has no trace, if the trace is
/// not whole (view `unmatched`, but messages whose two halves are both there need no number), if a
/// function that communicates was sampled, if the run has several worlds and `world` is not one of
/// them, and if a rank calls what a program cannot express: one-sided transfers, collectives on
/// neighbours or between groups, persistent collectives, partitioned messages and MPI_Isendrecv.
/// Fails like a query if the file cannot be read.
Result<SourceProgram> read_run(storage::RunFile& run, const RunOptions& options = {});

}  // namespace xylem::predict
