#pragma once

// The processor of this host, and the processors that a process may use.

#include <cstdint>
#include <string>

namespace xylem::backend {

struct Processor {
  std::string model;               ///< As the kernel names it; empty if it does not.
  std::uint64_t frequency_hz = 0;  ///< 0: not known.
};

/// Reads model and frequency of the first processor. The frequency is the maximum that the kernel
/// may choose; if it does not say that, as in most virtual machines, the present one. `root` is a
/// folder that has /proc and /sys, for tests.
Processor read_processor(const std::string& root = "");

/// The processors on which a process may run now, as the kernel writes them: "0-3,8". Empty if the
/// process has ended. Another thread of the process than its first one may have other processors.
std::string allowed_processors(std::uint32_t pid, const std::string& root = "");

}  // namespace xylem::backend
