#pragma once

// Collective calls as the messages of a program.

#include <cstdint>
#include <span>

#include "predict/collectives/choice.h"
#include "predict/collectives/schedule.h"
#include "predict/trace/program.h"
#include "predict/trace/sequence.h"

namespace xylem::predict {

/// The ranks that make collective calls together.
struct Communicator {
  /// Different for communicators that have two ranks in common.
  std::uint32_t number = 0;
  /// How many ranks it has.
  std::uint32_t ranks = 0;
  /// Their ranks in the program. Empty for the ranks 0, 1, ..., ranks - 1.
  std::span<const std::uint32_t> members;
};

/// Appends what `rank` of the communicator does in a call, by the algorithm that the model chooses.
///
/// The receives of a step are posted first and are immediate. A step with one message is a blocking
/// operation; otherwise the last send is, unless there are several, and a wait follows. After a
/// step the rank computes for the bytes that it has reduced, rounded to nanoseconds. A communicator
/// with one rank adds nothing.
void append_collective(const CollectiveCall& call, const Communicator& communicator,
                       std::uint32_t rank, const CollectiveModel& model, Sequence& sequence);

/// The same for a schedule. At most 3 operations for each of its messages.
void append_schedule(const Schedule& schedule, const Communicator& communicator,
                     std::uint64_t reduce_fs_per_byte, Sequence& sequence);

}  // namespace xylem::predict
