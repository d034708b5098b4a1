#pragma once

// The setup of a front end, and the protocol of its control channel. All messages are lines of
// text.
//
// First `xylem run`, `serve` or `attach` sends the setup as one line of JSON, so that the key is
// not on a command line. The front end answers `ready LIVE_PATH` or `error SENTENCE`. At the end of
// the job it gets `finish CODE`, or `abandon` if the job was not started. From then on it sends
// `alive` from time to time while it makes progress, and at last `done`.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/result.h"
#include "net/key.h"
#include "wire/series.h"

namespace xylem::launch {

struct Setup {
  std::string run;
  net::Key key{};
  std::vector<std::string> command;
  std::string directory;
  std::string user;
  std::string options;  ///< As `--print-config` shows them.
  std::string store;
  bool overwrite = false;
  /// For a successor: the path of the store, from the first front end's answer. Empty: the run
  /// begins.
  std::string live_path;
  std::string shape;                   ///< `--topology`
  std::string launcher;                ///< `--launcher`; empty: none.
  std::string placement = "even";      ///< `--placement`
  std::vector<ConfigEntry> fuzzy;      ///< From the configuration file: the rules that judge hosts.
  std::vector<ConfigEntry> streams{};  ///< From the same: the run's streams.
  /// Their plugins, each file once: copies of them (filters::copy_plugin) are passed as descriptors
  /// from first_plugin_fd on, so that a successor has the same copies even if a file has changed or
  /// gone.
  std::vector<std::string> plugins{};
  long first_plugin_fd = -1;  ///< Set by FrontEndProcess.
  long fold_mark_fd = -1;     ///< See FoldMark; -1 without plugins. Set by FrontEndProcess.
  /// Numbers of streams whose plugin has killed front ends; these streams are no longer merged. Set
  /// by FrontEndProcess.
  std::vector<std::string> unmerged_streams{};
  std::string comm_on = "mixed";         ///< `--comm-on`
  std::vector<std::string> extra_hosts;  ///< `--extra-hosts`
  std::vector<std::string> excluded;     ///< `--exclude`
  long most_per_host = -1;               ///< `--max-per-host`; -1: no limit.
  long reserved_cores = 0;               ///< `--reserve-cores`, ...
  bool reserve_for_processes = false;    ///< ... or its word processes.
  Nanos facts_every = 10 * kSecond;      ///< `--facts-every`
  Nanos settle = 2 * kSecond;
  Nanos window = 250 * kMillisecond;
  bool chunks = false;
  bool remote = false;  ///< The job may run on other hosts.
  bool tls = true;      ///< `--tls`
  bool quiet = false;   ///< No account on standard error at the end.
  std::vector<std::string> reachable_hosts;
  std::string run_folder;        ///< The run's folder on this host; a prefix with `--test-size`.
  long pretend_file_system = 0;  ///< For tests; see storage::SqliteOptions.
  std::string log_level;
  std::vector<ConfigEntry> alerts;  ///< From the configuration file: thresholds.
  std::vector<wire::ServiceSpec> services{};
};

/// The setup as one line, without a line break.
std::string to_json(const Setup& setup);

/// Fails with kCorrupt if the text is not JSON, or if a field is missing or has the wrong type.
Result<Setup> parse_setup(std::string_view text);

}  // namespace xylem::launch
