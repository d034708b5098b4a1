#pragma once

// Detects changes of a run's file without opening the file. Opening would need more time. Also,
// while a reader is open, a run that ends cannot write SQLite's log into the file.

#include <string>

namespace xylem::viz {

/// Returns a text that is different after every change of the file or of SQLite's log. It is empty
/// if neither exists.
std::string file_stamp(const std::string& file);

}  // namespace xylem::viz
