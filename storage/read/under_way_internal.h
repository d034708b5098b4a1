#pragma once

// Reads the calls under way. The report and the views share this code.

#include <cstdint>
#include <string>
#include <vector>

#include "storage/read/inquiry_internal.h"
#include "storage/read/under_way.h"

namespace xylem::storage {

struct UnderWayRows {
  std::vector<CallUnderWay> calls;  ///< The call that began first is first.
  std::uint64_t in_all = 0;
};

/// Reads the calls that have not returned, and those in which a process ended. `condition` is SQL
/// that further limits the processes `p`: "" or " AND ...". At most `limit` calls are returned.
UnderWayRows read_under_way(Inquiry& inquiry, const std::string& condition, std::uint64_t limit);

}  // namespace xylem::storage
