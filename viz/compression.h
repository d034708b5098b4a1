#pragma once

// Answers as gzip for those who take it: a grid of ranks and time is a megabyte of digits.

#include <cstddef>
#include <string_view>

#include "net/http.h"

namespace xylem::viz {

/// Shorter bodies are sent as they are: one packet carries them either way.
constexpr std::size_t kLeastCompressed = 1400;

/// Whether a request's Accept-Encoding names gzip, or "*", and does not weigh it with 0. What is
/// malformed names nothing.
bool takes_gzip(std::string_view accept_encoding);

/// The reply with its body as gzip and with Content-Encoding, where the asker takes it, the body is
/// long enough, it has no encoding yet, and it becomes shorter; else as it was. `Vary` is on every
/// reply that could have been compressed. Some 10 ms of CPU time a megabyte.
net::HttpReply compressed(net::HttpReply reply, std::string_view accept_encoding);

}  // namespace xylem::viz
