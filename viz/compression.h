#pragma once

// Compresses answers with gzip for clients that accept it. For example, the digits of a grid of
// ranks and time slots can be a megabyte.

#include <cstddef>
#include <string_view>

#include "net/http.h"

namespace xylem::viz {

/// Minimum size in bytes of a body that is compressed. A shorter body fits into one network packet
/// anyway.
constexpr std::size_t kMinCompressed = 1400;

/// Returns true if a client accepts gzip: the header Accept-Encoding contains gzip or "*", without
/// `q=0`. Malformed parts of the header are ignored.
bool takes_gzip(std::string_view accept_encoding);

/// Returns the reply unchanged if the body is shorter than kMinCompressed, is larger than 1 GiB, or
/// already has an encoding. Otherwise adds the header Vary. If the client accepts gzip and the body
/// becomes shorter, also compresses the body and adds the header Content-Encoding. Takes about 10
/// ms of CPU time per megabyte.
net::HttpReply compressed(net::HttpReply reply, std::string_view accept_encoding);

}  // namespace xylem::viz
