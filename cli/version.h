#pragma once

// Set by CMake from the project's version.

namespace xylem {

inline constexpr const char* kVersion = XYLEM_VERSION;

}  // namespace xylem
