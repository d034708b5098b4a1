#pragma once

// If a shared object crashes while it is loaded, the process that loads it ends. So a node first
// loads each object in a child process.

#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace xylem::filters {

/// Maximum time to load an object. The node's event loop waits during this time, and a node that is
/// silent for 3 s counts as lost. The interval of heartbeats is 1 s. So this time plus 1 s must be
/// less than 3 s. Otherwise the node could not report that it refuses the plugin.
constexpr Nanos kTrialLimit = 1500 * kMillisecond;

/// Forks a child process, which loads the object `name` with dlopen() and calls xylem_plugin().
/// Fails if the child crashes, throws, or does not end within `limit`. Fails with kExhausted if no
/// child can be made. The error message is only the reason, without the name of the object.
///
/// Also succeeds if the object cannot be loaded or is not a plugin: the caller gets the reason when
/// it loads the object itself. Any thread may call this function. It blocks, usually for a few
/// milliseconds. If the calling thread ends, the child ends too.
Result<void> try_loading(const std::string& name, Nanos limit = kTrialLimit);

/// Returns the mutex to lock while an object is loaded or unloaded, and while a child is forked
/// that will load an object. Reason: if another thread were in the dynamic linker during the fork,
/// the child would wait for the linker forever. It is a bare mutex and not a SharedState, because
/// the state that it protects is inside the dynamic linker: there is no value to give access to.
std::mutex& linker_mutex();

/// Makes the error for a refused plugin, with the path and the reason. plugin_copy.cc defines this
/// function.
Unexpected plugin_refused(Code code, const std::string& path, const std::string& why);

}  // namespace xylem::filters
