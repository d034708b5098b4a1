#pragma once

#include <cstdint>
#include <string>

namespace xylem {

/// The name of this host; empty if it has none.
std::string this_host_name();

/// Identity of CLOCK_MONOTONIC as this process reads it: a hash of the kernel's boot id and of the
/// process's time namespace. Processes with equal identities read the same clock. 0 if the identity
/// is not known.
std::uint64_t clock_identity();

}  // namespace xylem
