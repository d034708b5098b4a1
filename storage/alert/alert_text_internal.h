#pragma once

// Words of which the sentences of alerts are made.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace xylem::storage {

inline double to_seconds(Nanos ns) { return static_cast<double>(ns) / kSecond; }

/// With so many digits behind the point.
std::string number_text(double value, int digits);
/// "5 %".
std::string whole_percent_text(double share);
/// "12 s", below ten "9.5 s".
std::string seconds_text(Nanos ns);
/// "0-3, 7, 9 and 12 more", at most four pieces; ascending numbers.
std::string list_text(const std::vector<std::uint64_t>& ranks);
/// "rank 3", "rank 3 (node01)", "4 ranks (0-3)", "4 ranks (0-3, all on node01)"; `host` may be
/// empty.
std::string ranks_text(const std::vector<std::uint64_t>& ranks, const std::string& host);
/// "1 call", "5 calls".
std::string calls_text(std::uint64_t calls);

}  // namespace xylem::storage
