#pragma once

// A shared object that crashes while it is loaded ends its process. So it is first loaded in a
// child process.

#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace xylem::filters {

/// Maximum time to load an object. The node's event loop waits during this time. Together with the
/// 1 s between two heartbeats, the time must be less than the 3 s after which a silent node counts
/// as lost. Else the node could not report the refusal.
constexpr Nanos kTrialLimit = 1500 * kMillisecond;

/// Loads the object `name` with dlopen() and calls xylem_plugin(), in a forked child. Succeeds also
/// if the object cannot be loaded or is not a plugin; the caller gets the reason when it loads the
/// object itself. Fails if the child crashes, throws or does not end within `limit`, and with
/// kExhausted if no child can be made. The message is only the reason. Any thread may call it. It
/// blocks, usually for a few milliseconds. The child ends together with the thread that waits for
/// it.
Result<void> try_loading(const std::string& name, Nanos limit = kTrialLimit);

/// Held while an object is loaded or unloaded, and while a child is forked that will load an
/// object. A child that was forked while another thread was in the dynamic linker would wait for
/// the linker forever.
std::mutex& linker_mutex();

/// Makes the error for every refusal of a plugin: the file and the reason. Defined in
/// plugin_copy.cc.
Unexpected plugin_refused(Code code, const std::string& path, const std::string& why);

}  // namespace xylem::filters
