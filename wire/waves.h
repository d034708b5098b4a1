#pragma once

// The encoding of `Fields` objects. A packet of a tool's stream covers one or more consecutive
// waves; its payload has one `Fields` object for each wave. The payload of a multicast is one
// `Fields` object. The parameters of a stream are also one `Fields` object.
//
// Each encoding is one flat Cap'n Proto message (wire/fields.capnp). The same fields always give
// the same bytes. The functions keep no state, so any thread may call them.

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "wire/fields.h"
#include "wire/packet.h"

namespace xylem::wire {

/// The bytes that encode_waves() adds to the sum of Fields::bytes().
constexpr std::size_t kWavesHeadBytes = 24;

/// Encodes consecutive waves, in the order of `waves`. The size is exactly kWavesHeadBytes plus the
/// sum of Fields::bytes(). The caller must limit the size, because decoders refuse more than
/// kMaxFrameBytes.
Bytes encode_waves(std::span<const Fields> waves);

/// Decodes the bytes that encode_waves() wrote. Fails with kCorrupt if the bytes are malformed, or
/// if the number of waves is not `expected`. Also fails if field numbers do not ascend or a type is
/// unknown. Allocates at most ten times the payload plus 1 KiB. It does not check whether a field
/// has the type that its reader expects.
Result<std::vector<Fields>> decode_waves(std::span<const std::byte> payload, std::size_t expected);

/// Encodes one `Fields` object. The size is 8 bytes plus Fields::bytes().
Bytes encode_fields(const Fields& fields);
/// Decodes the bytes that encode_fields() wrote. Fails for the same reasons as decode_waves().
Result<Fields> decode_fields(std::span<const std::byte> bytes);

}  // namespace xylem::wire
