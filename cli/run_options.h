#pragma once

// The options of `xylem run` and `xylem serve`: default < configuration file < environment < flag.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace xylem {

/// One option as people may write it anywhere: `--NAME` on the command line, `XYLEM_NAME` (upper
/// case, `-` as `_`) in the environment, `NAME = "value"` in the file of `--config`.
struct Setting {
  const char* name;
  const char* fallback;
  bool is_switch;  ///< True when it stands on the command line without a value; else true or false.
  const char* help;
};

/// All of them, in the order in which help and `--print-config` show them.
const std::vector<Setting>& run_settings();

/// Checked values.
struct RunOptions {
  std::string store;  ///< Empty: named after the job or process.
  bool overwrite = false;
  bool chunks = false;  ///< --detail trace
  std::string topology;
  std::string launcher;  ///< Empty: none.
  Nanos window = 0;
  Nanos settle = 0;
  std::string sample;
  std::string interface;
  std::uint16_t port = 0;
  bool tls = true;
  unsigned ring_records = 0;  ///< 0: the library's default.
  unsigned test_size = 0;
  bool quiet = false;
  std::string log_level;
};

/// A value and where it was written, for error sentences.
struct SettingValue {
  std::string name;
  std::string value;
  std::string source;  ///< "--window", "XYLEM_WINDOW", "x.toml:3: window" or "default"
};

/// Puts the layers together. `flags` are those given on the command line; `config_path` is that of
/// `--config`, and when it is empty XYLEM_CONFIG's is taken, if any; `environment` holds NAME=VALUE
/// strings. Fails with kInvalidArgument on an unknown key of
/// the file, with its line.
Result<std::vector<SettingValue>> layer_settings(const std::vector<SettingValue>& flags,
                                                 const std::string& config_path,
                                                 const std::vector<std::string>& environment);

/// Checks every value, the topology too. Fails with kInvalidArgument and a sentence that begins
/// with the source.
Result<RunOptions> check_settings(const std::vector<SettingValue>& values);

/// As a configuration file that gives the same values again.
std::string print_settings(const std::vector<SettingValue>& values);

/// The topology as it can be handed to another process: a file's path made absolute.
Result<std::string> check_topology(const std::string& text);

}  // namespace xylem
