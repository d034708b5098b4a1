#pragma once

// Serves waiting coroutines (base/waiters.h) on an event loop.

#include "base/waiters.h"
#include "net/runtime.h"

namespace xylem::net {

/// Tries all waiters now, and again when a deadline passes. On the loop, after each event. Both
/// must live as long as the loop runs.
void try_waiters(Waiters& waiters, EventLoop& loop);

}  // namespace xylem::net
