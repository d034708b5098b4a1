#pragma once

// Detects changes of a run's file through the file system. Opening the file would cost more and
// could prevent the run from ending in one plain file.

#include <string>

namespace xylem::viz {

/// Returns a text that changes with every change of the file or of SQLite's log; empty if neither
/// exists.
std::string file_stamp(const std::string& file);

}  // namespace xylem::viz
