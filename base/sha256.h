#pragma once

#include <array>
#include <cstdint>

namespace xylem {

/// A SHA-256 digest, for example of a plugin's file.
using Sha256 = std::array<std::uint8_t, 32>;

}  // namespace xylem
