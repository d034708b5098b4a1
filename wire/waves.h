#pragma once

// The encoding of Fields: the payload of a tool stream's packet (one Fields for each wave of its
// range), and the single Fields of multicasts and parameters.
//
// Each is one flat Cap'n Proto message (wire/fields.capnp). Equal fields give equal bytes. Nothing
// here keeps state; any thread may call.

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "wire/fields.h"
#include "wire/packet.h"

namespace xylem::wire {

/// The bytes that encode_waves() adds to the sum of Fields::bytes().
constexpr std::size_t kWavesHeadBytes = 24;

/// The payload of waves `first`, `first + 1`, ... in this order. Its size is exactly
/// kWavesHeadBytes plus the sum of Fields::bytes(). The caller limits it: decoders refuse more than
/// kMaxFrameBytes.
Bytes encode_waves(std::span<const Fields> waves);

/// Fails with kCorrupt on anything else: a number of waves other than `expected`, field numbers
/// that do not ascend, a type that this version does not know. Allocates at most ten times the
/// payload plus 1 KiB. Values may have any type; the reader of a field checks it.
Result<std::vector<Fields>> decode_waves(std::span<const std::byte> payload, std::size_t expected);

/// One Fields. Its size is 8 bytes plus Fields::bytes().
Bytes encode_fields(const Fields& fields);
/// As decode_waves().
Result<Fields> decode_fields(std::span<const std::byte> bytes);

}  // namespace xylem::wire
