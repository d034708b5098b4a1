#pragma once

// Reads the thresholds of alerts from a configuration file:
//
//   [alerts]
//   stalled = "30s"      # 100ms to 1d; default 10s
//   imbalance = 0.2      # a share of time, above 0 up to 1; default 0.3
//   late = "off"         # a share of time, above 0 up to 1; default 0.3
//   loss = 1000          # calls, at least 1; default 1
//   oversubscribed = 2   # ranks per core, above 0; default 1
//   span = "30s"         # 1s to 1h; default 10s
//
// Each key except span may be "off". docs/alerts.md explains the alerts.

#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "storage/alert/alert_rules.h"

namespace xylem::storage {

/// Returns true for every key of the section `[alerts]`, also for an unknown key, and for the key
/// `alerts` outside of a section. read_alert_limits() refuses unknown keys of the section, and an
/// `alerts` entry with a value.
bool is_alert_key(std::string_view key);

/// Returns the limits, with defaults for missing keys. Keys of other sections are skipped. `path`
/// is the file's name in error messages. Fails with kInvalidArgument if a key is unknown, a value
/// is out of range, or `alerts` has a value. The message begins with "PATH:LINE: alerts".
Result<AlertLimits> read_alert_limits(const std::vector<ConfigEntry>& entries,
                                      const std::string& path);

/// Returns the lines of a configuration file that set these limits; empty if all limits are
/// defaults.
std::string print_alert_limits(const AlertLimits& limits);

}  // namespace xylem::storage
