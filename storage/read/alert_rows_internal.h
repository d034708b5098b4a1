#pragma once

// Reads the table `alert`.

#include <cstdint>
#include <vector>

#include "storage/alert/alert_rules.h"
#include "storage/read/inquiry_internal.h"

namespace xylem::storage {

struct AlertRows {
  std::vector<Alert> alerts;           ///< Open ones first.
  std::uint64_t in_all = 0, open = 0;  ///< In the whole table.
};

enum class AlertOrder { kOldestFirst, kNewestFirst };

/// At most `most` alerts; those of an unknown kind are left out. A file before schema 11 has none;
/// in a file before schema 16 their subject and leaf are unknown.
AlertRows read_alerts(Inquiry& inquiry, AlertOrder order, std::uint64_t most);

}  // namespace xylem::storage
