#pragma once

// The number of cores of this host. Read from the kernel, not by hwloc: an MPI library may bring a
// hwloc of its own, and two versions in one process can be mistaken for each other.

#include <string>

namespace xylem::calibrate {

/// Cores, not hardware threads, of all processors that are online. At least 1. `root` is a folder
/// that has /sys, for tests. If the kernel does not say which threads share a core, each counts.
unsigned count_cores(const std::string& root = "");

}  // namespace xylem::calibrate
