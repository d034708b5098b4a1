#pragma once

// The plan of a run: the settings of `xylem run`, `serve` and `attach`, and the sections of a
// configuration file. The layers of settings are described in settings.h. Each component defines
// the component's settings; this file joins them. `xylem` checks the plan before the job starts and
// sends the plan's text to the front end. The front end reads the text with the same function.

#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "base/settings.h"
#include "frontend/session_plan.h"
#include "launch/start_options.h"
#include "storage/alert/alert_rules.h"

namespace xylem {

/// All settings of a run, in the order of `--help` and `--print-config`.
const std::vector<Setting>& run_settings();

struct RunOptions {
  std::string store;  ///< Empty: named after the job or process.
  bool overwrite = false;
  bool quiet = false;
  std::string log_level = "warn";
  launch::StartOptions start;
  frontend::SessionPlan session;
  storage::AlertLimits alerts;

  /// The text from which all members above were read.
  std::vector<SettingValue> values{};
  std::vector<ConfigEntry> sections{};  ///< In the order of the file.
};

/// Reads a plan. `entries` are all entries of the configuration file. Entries that belong to a
/// section are kept in `sections`. Fails with kInvalidArgument and a sentence that begins with the
/// source of the first wrong value.
Result<RunOptions> read_run_options(const std::vector<SettingValue>& values,
                                    const std::vector<ConfigEntry>& entries);

/// Reads a plan and checks, before a job starts, whether its values fit together and whether its
/// topology file is readable. Fails with kInvalidArgument, as read_run_options() does.
Result<RunOptions> check_settings(const std::vector<SettingValue>& values,
                                  const std::vector<ConfigEntry>& entries = {});

/// Returns the text of a configuration file with `values` and `sections`.
std::string print_settings(const std::vector<SettingValue>& values,
                           const std::vector<ConfigEntry>& sections = {});

/// Returns the text of a configuration file with all settings of the plan, including services and
/// alert limits.
std::string print_plan(const RunOptions& options);

}  // namespace xylem
