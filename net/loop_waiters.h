#pragma once

// Resumes waiting coroutines (base/waiters.h) on an event loop.

#include "base/waiters.h"
#include "net/runtime.h"

namespace xylem::net {

/// Calls Waiters::try_all() now, and again when a deadline passes. Call it on the loop's thread
/// after each event. `waiters` and `loop` must live until the loop has ended.
void try_waiters(Waiters& waiters, EventLoop& loop);

}  // namespace xylem::net
