#pragma once

// A shared object that crashes when it is loaded takes the process with it. So it is loaded in a
// child process first.

#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace xylem::filters {

/// No object may take longer to load. The loop of the node stands still meanwhile: with the second
/// between two heartbeats it must be less than the three after which a silent node is given up, or
/// nobody would hear the refusal.
constexpr Nanos kTrialLimit = 1500 * kMillisecond;

/// Loads the object under that name for dlopen(), and asks it what it holds, in a forked child.
/// Good also when it cannot be loaded, or is no plugin: whoever loads it is told why. Fails when it
/// crashes, throws, or does not come back within `limit`; with kExhausted when there can be no
/// child. The message is the reason alone. Any thread; blocks, usually for a few milliseconds. The
/// child ends with the thread that waits for it, whatever it does.
Result<void> try_loading(const std::string& name, Nanos limit = kTrialLimit);

/// Held while an object is loaded or unloaded, and while a child is forked that will load one: a
/// child of a moment at which another thread was in the dynamic linker would wait for it for ever.
std::mutex& linker_mutex();

/// What every refusal of a plugin says: the file, and why. Defined in plugin_copy.cc.
Unexpected plugin_refused(Code code, const std::string& path, const std::string& why);

}  // namespace xylem::filters
