#pragma once

// The setup of a front end, and the protocol of the front end's control channel. All messages are
// lines of text.
//
// First `xylem run`, `serve` or `attach` sends the setup as one line of JSON. So the key is not on
// a command line. The front end answers `ready LIVE_PATH` or `error SENTENCE`. At the end of the
// job the front end gets `finish CODE`, or `abandon` if the job was not started. After that it
// sends `alive` each second, but not while one commit takes longer than a second. Finally it sends
// `done`.

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
  /// The user's settings as text. `xylem` has checked the settings; the front end reads them with
  /// the same function. So a new setting needs no change here.
  std::vector<SettingValue> settings;
  /// Sections of the configuration file: [fuzzy], [stream.NAME], ...
  std::vector<ConfigEntry> sections{};
  std::string store;
  /// For a successor: the path of the store, from the first front end's answer. Empty for the first
  /// front end.
  std::string live_path;
  /// The paths of the streams' plugins, each path once. Copies of these files
  /// (filters::copy_plugin) are passed as descriptors; the first is `first_plugin_fd`. So a
  /// successor has the same copies even if a file was changed or removed.
  std::vector<std::string> plugins{};
  long first_plugin_fd = -1;  ///< Descriptor of the first copy. Set by FrontEndProcess.
  /// Descriptor of the memory in which the front end notes which plugin it is calling (FoldMark);
  /// -1 without plugins. Set by FrontEndProcess.
  long fold_mark_fd = -1;
  /// Numbers of the streams whose plugins have killed front ends. The waves of these streams are no
  /// longer merged. Set by FrontEndProcess.
  std::vector<std::string> unmerged_streams{};
  bool remote = false;       ///< True if the job may run on other hosts.
  bool counts_calls = true;  ///< False for `xylem attach`: it prints no account of calls.
  std::vector<std::string> reachable_hosts;
  long pretend_file_system = 0;  ///< For tests; see storage::SqliteOptions.
};

/// Returns the setup as one line, without a line break at the end.
std::string to_json(const Setup& setup);

/// Parses the text of to_json(). Fails with kCorrupt if the text is not JSON, or if a field is
/// missing or has the wrong type.
Result<Setup> parse_setup(std::string_view text);

/// For the front end: waits for the setup on the control channel and reads it. The lines that
/// follow stay in the socket, for frontend::Session. Fails with kUnavailable if the channel is
/// closed before the whole line has arrived, and with kCorrupt if parse_setup() fails.
Result<Setup> receive_setup(int control_fd);

/// Sends a line from the front end to the process that has started the front end. `line` has no
/// line break. Logs a warning if the line cannot be sent.
void send_answer(int control_fd, const std::string& line);

}  // namespace xylem::launch
