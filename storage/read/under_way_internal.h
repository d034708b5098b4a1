#pragma once

// Reads the calls under way. The report and the views share this code.

#include <cstdint>
#include <string>
#include <vector>

#include "storage/read/inquiry.h"
#include "storage/read/under_way.h"

namespace xylem::storage {

struct UnderWayRows {
  std::vector<CallUnderWay> calls;  ///< The longest first.
  std::uint64_t in_all = 0;
};

/// The condition of calls that still last, as far as is known.
inline constexpr const char* kLasting = " AND NOT p.ended AND h.lost_reason IS NULL";

/// Reads the calls that have not returned, and those in which a process ended. `condition` is SQL
/// that further limits the processes `p` and their hosts `h`: "" or " AND ...". At most `limit`
/// calls are returned.
UnderWayRows read_under_way(Inquiry& inquiry, const std::string& condition, std::uint64_t limit);

}  // namespace xylem::storage
