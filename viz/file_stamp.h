#pragma once

// Whether a run's file has news, asked of the file system: opening the file would keep a run from
// ending in one plain file, and cost more.

#include <string>

namespace xylem::viz {

/// What tells a file and its log from what they were before their last change; empty when neither
/// is there.
std::string file_stamp(const std::string& file);

}  // namespace xylem::viz
