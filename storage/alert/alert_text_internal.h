#pragma once

// Phrases for the texts of alerts.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

namespace xylem::storage {

inline double to_seconds(Nanos ns) { return static_cast<double>(ns) / kSecond; }

/// Returns a number with `digits` decimal places.
std::string number_text(double value, int digits);
/// Returns "5 %".
std::string whole_percent_text(double share);
/// Returns whole seconds, "12 s"; below ten seconds one decimal place, "9.5 s".
std::string seconds_text(Nanos ns);
/// Returns a list such as "0-3, 7, 9 and 12 more", with at most four pieces. `ranks` must be in
/// ascending order.
std::string list_text(const std::vector<Rank>& ranks);
/// Returns "rank 3 (node01)" or "4 ranks (0-3, all on node01)". If `host` is empty, returns "rank
/// 3" or "4 ranks (0-3)".
std::string ranks_text(const std::vector<Rank>& ranks, const std::string& host);
/// Returns "1 core", "4 cores" or "1.5 cores".
std::string cores_text(double cores);
/// Returns "1 call" or "5 calls".
std::string calls_text(std::uint64_t calls);

}  // namespace xylem::storage
