#pragma once

// Reads the table `alert`.

#include <cstdint>
#include <vector>

#include "storage/alert/alert_rules.h"
#include "storage/read/inquiry.h"

namespace xylem::storage {

struct AlertRows {
  std::vector<Alert> alerts;  ///< Open alerts first.
  /// Number of all alerts in the table, and number of open alerts.
  std::uint64_t in_all = 0, open = 0;
};

enum class AlertOrder { kOldestFirst, kNewestFirst };

/// Returns at most `limit` alerts. Alerts of an unknown kind are left out. A file with a schema
/// before 11 has no alerts. If the schema is before 16, subject and leaf of each alert are unknown.
AlertRows read_alerts(Inquiry& inquiry, AlertOrder order, std::uint64_t limit);

}  // namespace xylem::storage
