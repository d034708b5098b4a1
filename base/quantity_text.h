#pragma once

// Formats numbers for people. Values with a unit have about three significant digits.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace xylem {

/// For example "1,204,113".
std::string count_text(std::uint64_t count);
/// A number and its noun, with an s unless it is one: "1 rank", "1,204,113 ranks".
std::string counted(std::uint64_t count, std::string_view noun);
/// For example "999 ns", "1.23 us", "12.3 ms", "1.23 s", "4 m 03 s", "2 h 05 m" or "-5 ns". Accepts
/// any number.
std::string duration_text(Nanos ns);
/// Gives "12.3 %" for 0.123.
std::string percent_text(double share);
/// The date of `realtime_ns` nanoseconds since 1970: "2026-11-23 00:28:42 UTC".
std::string date_text(Nanos realtime_ns);
/// For example "999 B", "1.23 KiB", "12.3 MiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace xylem
