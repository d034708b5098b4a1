#pragma once

#include <string>

namespace xylem {

/// The name of this host; empty if it has none.
std::string this_host_name();

}  // namespace xylem
