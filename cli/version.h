#pragma once

// The version of xylem. CMake sets it from the project's version.

namespace xylem {

inline constexpr const char* kVersion = XYLEM_VERSION;

}  // namespace xylem
