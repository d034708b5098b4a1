#pragma once

// The run's key: 256 random bits. Every process of a run's tree proves that it knows them.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace xylem::net {

/// It proves membership in the run, not a role: its owner can act as any node (docs/security.md).
using Key = std::array<std::uint8_t, 32>;

/// Fills `bytes` from the system's random source. Stops the program when that fails, since it could
/// not go on safely.
void fill_random(std::span<std::uint8_t> bytes);

Key make_key();

/// Two hexadecimal digits a byte.
std::string to_hex(std::span<const std::uint8_t> bytes);

/// 64 hexadecimal digits, white space around them allowed. Fails with kInvalidArgument and a
/// sentence that does not repeat the text.
Result<Key> parse_key(std::string_view hex);

}  // namespace xylem::net
