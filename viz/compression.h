#pragma once

// Compresses answers with gzip for clients that accept it: a grid of ranks and time is a megabyte
// of digits.

#include <cstddef>
#include <string_view>

#include "net/http.h"

namespace xylem::viz {

/// Minimum size of a compressed body. A shorter one fits into one packet anyway.
constexpr std::size_t kLeastCompressed = 1400;

/// Whether a request's Accept-Encoding names gzip, or "*", and does not weigh it with 0. Malformed
/// parts are ignored.
bool takes_gzip(std::string_view accept_encoding);

/// The reply with its body as gzip and with Content-Encoding, if the client accepts it, the body is
/// long enough, has no encoding yet, and becomes shorter; else unchanged. `Vary` is on every reply
/// that could have been compressed. Takes about 10 ms of CPU time a megabyte.
net::HttpReply compressed(net::HttpReply reply, std::string_view accept_encoding);

}  // namespace xylem::viz
