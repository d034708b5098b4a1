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

#include "base/config.h"
#include "base/result.h"
#include "base/settings.h"
#include "net/key.h"

namespace xylem::launch {

struct Setup {
  std::string run;
  net::Key key{};
  std::vector<std::string> command;
  std::string directory;
  std::string user;
  /// The user's settings as text. The front end reads them with the function with which `xylem` has
  /// checked them, so a new setting changes nothing here.
  std::vector<SettingValue> settings;
  /// From the configuration file: [fuzzy], [stream.NAME], ...
  std::vector<ConfigEntry> sections{};
  std::string store;
  /// For a successor: the path of the store, from the first front end's answer. Empty: the run
  /// begins.
  std::string live_path;
  /// The plugins of streams, each file once: copies of them (filters::copy_plugin) are passed as
  /// descriptors from first_plugin_fd on, so that a successor has the same copies even if a file
  /// has changed or gone.
  std::vector<std::string> plugins{};
  long first_plugin_fd = -1;  ///< Set by FrontEndProcess.
  long fold_mark_fd = -1;     ///< See FoldMark; -1 without plugins. Set by FrontEndProcess.
  /// Numbers of streams whose plugin has killed front ends; these streams are no longer merged. Set
  /// by FrontEndProcess.
  std::vector<std::string> unmerged_streams{};
  bool remote = false;       ///< The job may run on other hosts.
  bool counts_calls = true;  ///< False for `xylem attach`: no account of calls is printed.
  std::vector<std::string> reachable_hosts;
  std::string run_folder;        ///< The run's folder on this host; a prefix with `--test-size`.
  long pretend_file_system = 0;  ///< For tests; see storage::SqliteOptions.
};

/// The setup as one line, without a line break.
std::string to_json(const Setup& setup);

/// Fails with kCorrupt if the text is not JSON, or if a field is missing or has the wrong type.
Result<Setup> parse_setup(std::string_view text);

/// For the front end: waits for the setup on the control channel and reads it. The lines that
/// follow stay in the socket, for frontend::Session. Fails with kUnavailable when the channel ends
/// before the line does, and as parse_setup.
Result<Setup> receive_setup(int control_fd);

/// Sends a line, given without its line break, from the front end to the process that has started
/// it. Logs a warning when that process does not read it.
void send_answer(int control_fd, const std::string& line);

}  // namespace xylem::launch
