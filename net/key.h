#pragma once

// The run's key: 256 random bits. Every process of a run's tree proves that it knows the key.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace xylem::net {

/// The key proves membership in the run, not a role: a process with the key can act as any node
/// (docs/security.md).
using Key = std::array<std::uint8_t, 32>;

/// Fills `bytes` from the system's random source. Stops the program if the source fails, because it
/// would not be safe to continue.
void fill_random(std::span<std::uint8_t> bytes);

/// Returns a new random key. Stops the program if the random source fails, like fill_random().
Key make_key();

/// Returns two hexadecimal digits for each byte.
std::string to_hex(std::span<const std::uint8_t> bytes);

/// Parses 64 hexadecimal digits; white space before and after is allowed. Fails with
/// kInvalidArgument on any other text. The message does not contain the text, because the text may
/// be a key.
Result<Key> parse_key(std::string_view hex);

}  // namespace xylem::net
