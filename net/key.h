#pragma once

// The run's key: 256 random bits that every process of a run's tree proves to know.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace xylem::net {

/// Proves the run, not the role: whoever has it may be any node (docs/security.md).
using Key = std::array<std::uint8_t, 32>;

/// Fills `bytes` from the system's random source. Stops the program when that fails, since nothing
/// safe can follow.
void fill_random(std::span<std::uint8_t> bytes);

Key make_key();

/// Two hexadecimal digits a byte.
std::string to_hex(std::span<const std::uint8_t> bytes);

/// 64 hexadecimal digits, white space around them allowed. Fails with kInvalidArgument and a
/// sentence that does not repeat the text.
Result<Key> parse_key(std::string_view hex);

}  // namespace xylem::net
