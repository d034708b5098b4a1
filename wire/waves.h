#pragma once

// The bytes of fields: the payload of a tool stream's packet (one Fields for each wave of its
// range), and single Fields, as multicasts and parameters carry them.
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

/// What encode_waves() adds to the sum of Fields::bytes().
constexpr std::size_t kWavesHeadBytes = 24;

/// The payload of waves `first`, `first + 1`, ... in this order. As long as kWavesHeadBytes and
/// Fields::bytes() of each, exactly. The caller bounds it: decoders refuse what exceeds
/// kMaxFrameBytes.
Bytes encode_waves(std::span<const Fields> waves);

/// Fails with kCorrupt on anything else, and when there are not `expected` waves: on numbers that
/// do not ascend, on a type that this version does not know. Allocates at most ten times the
/// payload and a KiB, whatever it says of itself. Every type of value may come; who reads a field
/// checks its type.
Result<std::vector<Fields>> decode_waves(std::span<const std::byte> payload, std::size_t expected);

/// One Fields. As long as 8 bytes and Fields::bytes().
Bytes encode_fields(const Fields& fields);
/// As decode_waves().
Result<Fields> decode_fields(std::span<const std::byte> bytes);

}  // namespace xylem::wire
