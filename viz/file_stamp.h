#pragma once

// Detects changes of a run's file without opening the file. Opening would need more time. Also,
// while a reader is open, a run that ends cannot remove SQLite's log.

#include <string>

#include "base/clock.h"

namespace xylem::viz {

/// Returns inode, size and modification time of the file and of SQLite's log as text. So the text
/// changes when the file changes. It is empty if neither exists.
std::string file_stamp(const std::string& file);

/// Returns how long ago the file or SQLite's log was changed, by the clocks of this host and of the
/// host that keeps the file. 0 if neither exists.
Nanos unchanged_for(const std::string& file);

}  // namespace xylem::viz
