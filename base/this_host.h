#pragma once

#include <string>

namespace xylem {

/// What this host calls itself; empty where it has no name.
std::string this_host_name();

}  // namespace xylem
