#pragma once

// Reads what findings need from windows, from the matrix of messages, and from events.

#include "storage/read/findings.h"
#include "storage/read/inquiry.h"

namespace xylem::storage {

/// Adds the messages of each world to `activity`.
void read_messages(Inquiry& inquiry, Activity& activity);

/// Adds the slices of the largest world, if ranks may be slow one after the other. In each slice,
/// the slowest rank computes for at most the slice. So slices can show at most the time that the
/// communication efficiency lacks. `activity` must have its ranks.
void read_slices(Inquiry& inquiry, Activity& activity);

/// Adds the turns of the largest world, if its ranks may compute in turn, if it has at most 64
/// ranks, and if the run has a trace. If the run has many events, only a range of time in the
/// middle of the run is read. If even a thousandth of the run has too many, or a chunk is damaged,
/// nothing is added. Never sets `inquiry.failure`. `activity` must have its ranks.
void read_turns(Inquiry& inquiry, Activity& activity);

}  // namespace xylem::storage
