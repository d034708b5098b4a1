#pragma once

// The runs that a user may mean: the files in a folder, and the user's live runs on this host.
// `xylem ls` lists them, and verbs without FILE choose one of them.

#include <iosfwd>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "launch/live_runs.h"
#include "storage/read/run_summary.h"

namespace CLI {
class App;
}

namespace xylem {

enum class RunState {
  kLive,   ///< In progress on this host.
  kEnded,  ///< Its end is stored.
  /// Its front end ran on this host, its end is not stored, and it is none of this user's live
  /// runs. A run with `--test-size` or of another user may still be in progress.
  kGivenUp,
  kUnknown,     ///< Its end is not stored, and its front end ran on another host.
  kUnreadable,  ///< The file cannot be read: it is damaged, or of a newer xylem.
};

/// "live", "ended", "given up", "unknown", "unreadable".
std::string to_text(RunState state);

struct KnownRun {
  std::string file;  ///< Absolute path.
  RunState state = RunState::kUnreadable;
  bool in_folder = false;         ///< The file is in the folder of known_runs().
  storage::RunSummary summary{};  ///< Not set if the file is unreadable.
  std::string fault{};            ///< Why the file is unreadable.
};

/// The runs whose files are in `folder`, and `live`, wherever their files are. The run that started
/// last comes first; unreadable files come last. `host` is the name of this host. Fails if the
/// folder cannot be read (see storage::find_run_files).
Result<std::vector<KnownRun>> known_runs(const std::string& folder,
                                         const std::vector<launch::LiveRun>& live,
                                         const std::string& host);

/// The rule by which a run is the newest one.
enum class Newest {
  /// The run in the folder that started last, live or not. If the folder has none, the live run
  /// that started last. This rule is for verbs such as `report`: a live run in another folder does
  /// not change their answers.
  kInFolder,
  /// The live run that started last. If there is none, the run in the folder that started last.
  /// This rule is for verbs that show the present state, such as `top`.
  kLive,
};

/// The newest of known_runs(). Fails with kNotFound if there is no readable run.
Result<KnownRun> newest_run(const std::vector<KnownRun>& runs, Newest which);

/// The path as a user of the current folder would type it.
std::string short_path(const std::string& path);

/// How long `--live` waits for a run to begin.
inline constexpr Nanos kDefaultWait = 60 * kSecond;

/// The run that a verb was asked for.
struct RunChoice {
  std::string
      file;  ///< Path of a run's file. With `is_live` the begin of a run's id. May be empty.
  bool is_live = false;       ///< A run of this user that is in progress on this host.
  Nanos wait = kDefaultWait;  ///< Maximum time to wait for a run to begin.
};

/// Returns the path of the chosen run's file. If no file is given, chooses newest_run(), and a
/// sentence on `err` names the file. With `is_live`, waits until a run begins (see
/// launch::await_live_run), and a sentence says so. If `which` is kLive, it also waits if there is
/// no run at all. `verb` is named in the sentences. Fails with kNotFound if there is no such run,
/// and with kInvalidArgument if several live runs match.
Result<std::string> choose_run(const std::string& verb, const RunChoice& choice, Newest which,
                               std::ostream& err);

/// Adds the positional FILE and the options `--live` and `--wait`. `choice` must not move while
/// `verb` parses.
void add_run_choice(CLI::App& verb, RunChoice& choice);
/// Adds the positional FILE of a verb that chooses Newest::kInFolder.
void add_run_file(CLI::App& verb, std::string& file);

}  // namespace xylem
