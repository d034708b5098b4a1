#pragma once

// The encoding of Fields. The payload of a tool stream's packet has one Fields for each wave of the
// packet's range. A multicast or parameters are a single Fields.
//
// Each encoding is one flat Cap'n Proto message (wire/fields.capnp). Equal fields give equal bytes.
// The functions keep no state, so any thread may call them.

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "wire/fields.h"
#include "wire/packet.h"

namespace xylem::wire {

/// The bytes that encode_waves() adds to the sum of Fields::bytes().
constexpr std::size_t kWavesHeadBytes = 24;

/// Encodes waves `first`, `first + 1`, ... in this order. The size is exactly kWavesHeadBytes plus
/// the sum of Fields::bytes(). The caller must limit the size: decoders refuse more than
/// kMaxFrameBytes.
Bytes encode_waves(std::span<const Fields> waves);

/// Fails with kCorrupt if the bytes are not such a payload, if the number of waves is not
/// `expected`, if field numbers do not ascend, or if this version does not know a type. Allocates
/// at most ten times the payload plus 1 KiB. Values may have any type; the reader of a field checks
/// it.
Result<std::vector<Fields>> decode_waves(std::span<const std::byte> payload, std::size_t expected);

/// Encodes one Fields. The size is 8 bytes plus Fields::bytes().
Bytes encode_fields(const Fields& fields);
/// Like decode_waves(), for one Fields.
Result<Fields> decode_fields(std::span<const std::byte> bytes);

}  // namespace xylem::wire
