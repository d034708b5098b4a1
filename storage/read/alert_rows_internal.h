#pragma once

// Reads the table `alert`.

#include <cstdint>
#include <vector>

#include "storage/alert/alert_rules.h"
#include "storage/read/inquiry_internal.h"

namespace xylem::storage {

struct AlertRows {
  std::vector<Alert> alerts;  ///< Open alerts first.
  /// Number of alerts in the whole table, and of open alerts among them.
  std::uint64_t in_all = 0, open = 0;
};

enum class AlertOrder { kOldestFirst, kNewestFirst };

/// Returns at most `most` alerts; leaves out alerts of an unknown kind. A file with a schema before
/// 11 has no alerts. In a file with a schema before 16, subject and leaf of the alerts are unknown.
AlertRows read_alerts(Inquiry& inquiry, AlertOrder order, std::uint64_t most);

}  // namespace xylem::storage
