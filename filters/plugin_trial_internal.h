#pragma once

// A shared object that crashes when it is loaded takes the process with it. So it is loaded in a
// child process first.

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace xylem::filters {

/// No object may take longer to load: the loop of the node stands still meanwhile.
constexpr Nanos kTrialLimit = 5 * kSecond;

/// Loads the object under that name for dlopen(), and asks it what it holds, in a forked child.
/// Good also when it cannot be loaded, or is no plugin: whoever loads it is told why. Fails when it
/// crashes, throws, or does not come back within `limit`; with kExhausted when there can be no
/// child. The message is the reason alone. Any thread; blocks, usually for a few milliseconds.
Result<void> try_loading(const std::string& name, Nanos limit = kTrialLimit);

}  // namespace xylem::filters
