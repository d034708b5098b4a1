#pragma once

// Compresses answers with gzip for clients that accept it. For example, a grid of ranks and time
// slots can have a megabyte of digits.

#include <cstddef>
#include <string_view>

#include "net/http.h"

namespace xylem::viz {

/// Minimum size of a body to be compressed. A shorter body fits into one packet anyway.
constexpr std::size_t kMinCompressed = 1400;

/// Returns whether a client accepts gzip: its Accept-Encoding contains gzip or "*", without `q=0`.
/// Malformed parts are ignored.
bool takes_gzip(std::string_view accept_encoding);

/// Compresses the body with gzip and adds Content-Encoding, if the client accepts gzip and the body
/// becomes shorter. Also adds `Vary`, even if the client does not accept gzip. Returns a reply
/// unchanged if its body is too short or already has an encoding. Takes about 10 ms of CPU time per
/// megabyte.
net::HttpReply compressed(net::HttpReply reply, std::string_view accept_encoding);

}  // namespace xylem::viz
