#pragma once

// Reads options that users may set in several places. A flag wins over the environment, the
// environment over the configuration file, and the file over the default.
//
//   SettingFlags flags(*app, run_settings());     // before parsing
//   auto values = flags.layered(environment);     // after it; each subcommand checks its values

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "base/settings.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace xylem {

/// Path of the configuration file: the value of `--config`, else of XYLEM_CONFIG; "" if there is
/// none.
std::string config_file(const std::string& flag, const std::vector<std::string>& environment);

/// The entries of the file; none if `path` is empty. Fails if the file cannot be read (see
/// load_config).
Result<std::vector<ConfigEntry>> config_entries(const std::string& path);

/// True for a key of a section that a component reads by itself: [fuzzy], [service.NAME],
/// [stream.NAME], [alerts].
bool is_section_key(std::string_view key);

/// Puts the layers together. Returns a value for each of `settings`. `flags` are the flags of the
/// command line. `config_flag` is the value of `--config`. `environment` is a list of NAME=VALUE
/// strings.
///
/// One file can serve every subcommand: settings of other subcommands are skipped. Rules of fuzzy
/// placement (placement/fuzzy_rules.h) and services (frontend/service_options.h) are checked for
/// every subcommand. Fails if the file cannot be read (see load_config). Fails with
/// kInvalidArgument and the line for an unknown key, for a list instead of one value, or for
/// invalid rules or services.
Result<std::vector<SettingValue>> layer_settings(const std::vector<Setting>& settings,
                                                 const std::vector<SettingValue>& flags,
                                                 const std::string& config_flag,
                                                 const std::vector<std::string>& environment);

/// The flags of a subcommand, including `--config`. This object must not be moved or destroyed
/// while `app` parses. Not thread-safe.
class SettingFlags {
 public:
  SettingFlags(CLI::App& app, const std::vector<Setting>& settings);
  SettingFlags(const SettingFlags&) = delete;
  SettingFlags& operator=(const SettingFlags&) = delete;

  /// The values of all layers. Call it after `app` has parsed. Fails if a layer is wrong (see
  /// layer_settings).
  Result<std::vector<SettingValue>> layered(const std::vector<std::string>& environment) const;

  /// The value of `--config`; "" if it is not given.
  const std::string& config() const { return config_; }

 private:
  const std::vector<Setting>& settings_;
  std::deque<std::string> values_;  // A deque, since CLI11 keeps references to the elements.
  std::vector<CLI::Option*> options_;
  std::string config_;
};

}  // namespace xylem
