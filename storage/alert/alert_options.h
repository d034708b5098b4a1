#pragma once

// The thresholds of alerts that a configuration file sets:
//
//   [alerts]
//   stalled = "30s"      # 100ms to 1d; 10s when left out
//   imbalance = 0.2      # a share of time, above 0 up to 1; 0.3
//   late = "off"         # likewise
//   loss = 1000          # calls, at least 1; 1
//   span = "30s"         # 1s to 1h; 10s
//
// Each but span may be "off". docs/alerts.md says what they mean.

#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "storage/alert/alert_rules.h"

namespace xylem::storage {

/// True for a key of the section, right or wrong: read_alert_limits() judges it.
bool is_alert_key(std::string_view key);

/// Defaults for what is not set. Keys of other sections are passed over; `path` is what errors call
/// the file. Fails with kInvalidArgument and "PATH:LINE: why" on an unknown key and on a value out
/// of range.
Result<AlertLimits> read_alert_limits(const std::vector<ConfigEntry>& entries,
                                      const std::string& path);

/// As the section of a file that sets the same; empty when all are defaults.
std::string print_alert_limits(const AlertLimits& limits);

}  // namespace xylem::storage
