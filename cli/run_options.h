#pragma once

// The options of `xylem run` and `xylem serve`; layered as settings.h says.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/result.h"
#include "cli/settings.h"
#include "placement/room.h"
#include "wire/series.h"

namespace xylem {

/// All of them, in the order in which help and `--print-config` show them.
const std::vector<Setting>& run_settings();

/// Checked values.
struct RunOptions {
  std::string store;  ///< Empty: named after the job or process.
  bool overwrite = false;
  bool chunks = false;  ///< --detail trace
  std::string topology;
  std::string launcher;            ///< Empty: none.
  std::string placement;           ///< "even" or "fuzzy"
  std::vector<ConfigEntry> fuzzy;  ///< Rules of fuzzy placement that the configuration file has.
  std::string comm_on;
  placement::RoomRules room;
  std::vector<std::string> extra_hosts;
  Nanos facts_every = 0;  ///< 0: hosts are not measured.
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
  std::vector<wire::ServiceSpec> services{};  ///< From the configuration file.
  std::vector<ConfigEntry> streams{};         ///< From that file, checked: see stream_options.h.
  std::vector<ConfigEntry> alerts{};          ///< Likewise, for storage::read_alert_limits.
};

/// Checks every value, also the topology, and whether they fit together. `entries` are those of the
/// configuration file; the rules of fuzzy placement are kept. Fails with kInvalidArgument
/// and a sentence that begins with the source.
Result<RunOptions> check_settings(const std::vector<SettingValue>& values,
                                  const std::vector<ConfigEntry>& entries = {});

/// The sections of the configuration file for placement and streams.
std::vector<ConfigEntry> sections_of(const RunOptions& options);

/// A configuration file with the same values, rules and streams.
std::string print_settings(const std::vector<SettingValue>& values,
                           const std::vector<ConfigEntry>& sections = {});

/// The topology for another process: the path of a file is made absolute.
Result<std::string> check_topology(const std::string& text);

}  // namespace xylem
