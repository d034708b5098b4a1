#pragma once

// The front end as a child process of `xylem run` and `xylem serve`, and its successors.

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "launch/fold_mark.h"
#include "launch/restarts.h"
#include "launch/setup.h"
#include "launch/standstill.h"

namespace xylem::launch {

/// Keeps a run's front end alive. This object owns the listening sockets, the copies of plugins and
/// the setup. So it can replace a dead front end by a successor with the same addresses, store and
/// filters. The first successor starts immediately. Later successors start after growing pauses
/// (see Restarts).
///
/// A hang of the front end while the job runs has no consequence. At the start of a front end and
/// at the end of the run, the front end's answer is needed. A hang there is reported, and later the
/// front end is killed (see Patience).
///
/// If kMaxFoldDeaths front ends die in the plugin of the same stream, successors no longer call
/// this plugin. The waves of the stream then stay unmerged. Deaths are counted together only if
/// less than kFoldDeathsForgotten passes between two of them.
///
/// Each front end runs in a new session. So keys pressed at the terminal do not reach it.
///
/// Order of calls: start() once; attend() repeatedly while the job runs; finish() or abandon()
/// once. Not thread-safe. Calls waitpid() only for front ends, not for other children.
class FrontEndProcess {
 public:
  /// Prints a sentence for the user.
  using Say = std::function<void(const std::string& sentence)>;

  /// Timeouts for a front end that hangs; Standstill says what a hang is.
  struct Patience {
    Nanos until_said = 5 * kSecond;     ///< A hang of this length is reported.
    Nanos until_killed = 20 * kSecond;  ///< After a hang of this length the front end is killed.
    /// Maximum wait for the end of a killed front end.
    Nanos until_left = 5 * kSecond;
  };

  /// Starts `program` and waits until it has opened the store. `plugins` are the copies of
  /// setup.plugins. Reports a hang with `say`.
  ///
  /// Fails with kInvalidArgument if the front end cannot open the store; the message is the front
  /// end's sentence. Fails with kNotFound if the program cannot be started, and with kUnavailable
  /// if the front end has died or hung for too long. Fails with kExhausted if there are not enough
  /// descriptors.
  static Result<FrontEndProcess> start(const std::string& program, Setup setup,
                                       std::vector<UniqueFd> listening,
                                       std::vector<UniqueFd> plugins = {}, const Say& say = {},
                                       const Patience& patience = {5 * kSecond, 20 * kSecond,
                                                                   5 * kSecond});

  /// Supervises the front end. Does not wait for the front end's answers. Call it when a child of
  /// this process may have ended. Also call it at the latest after the returned duration; nullopt
  /// means that there is no latest time. `say` reports when a front end dies, what happens next,
  /// and when a successor cannot open the store. A failure that is repeated is reported once.
  std::optional<Nanos> attend(Nanos now, const Say& say);

  /// Tells the front end that the job has ended. Waits until this front end or a successor has
  /// stored everything. Fails with kUnavailable
  /// - if front ends have died or could not open the store kMaxDeaths times during this wait
  ///   (deaths in plugins do not count);
  /// - if kMaxStandstills front ends hung and were killed, or if a killed one does not end;
  /// - if the user has interrupted twice. At the first SIGINT, SIGTERM or SIGHUP, a message says
  ///   that data is being stored. The second signal kills the front end.
  Result<void> finish(int exit_code, const Say& say);

  /// Call it instead of finish() if the job was not started. The front end then prints no account,
  /// and keeps the store of this run only if the store has data. Waits like finish(), and fails in
  /// the same cases.
  Result<void> abandon(const Say& say);

  static constexpr int kMaxDeaths = 5;
  static constexpr int kMaxStandstills = 2;
  static constexpr int kMaxFoldDeaths = 3;
  /// If more time than this passes between two deaths in a plugin, counting starts again. This time
  /// is longer than any pause of Restarts plus the time until a successor gets the same wave again.
  /// During finish() all deaths are counted, so that finish() ends.
  static constexpr Nanos kFoldDeathsForgotten = 600 * kSecond;

 private:
  FrontEndProcess(std::string program, Setup setup, std::vector<UniqueFd> listening,
                  std::vector<UniqueFd> plugins, const Patience& patience)
      : program_(std::move(program)),
        setup_(std::move(setup)),
        listening_(std::move(listening)),
        plugins_(std::move(plugins)),
        patience_(patience) {}

  Result<void> launch();
  bool is_there() const { return pid_ > 0; }
  void hear();
  void handle_line(const std::string& line);
  void reap_if_dead(Nanos now);
  void blame_plugin(Nanos now);
  void decide(Nanos now, const Say& say);
  void end_if_still(Nanos now, const Say& say);
  void tell_to_finish();
  void answer_interrupt(const Say& say);
  Result<void> end(std::string last_line, const Say& say);

  std::string program_;
  Setup setup_;  // `live_path` is set from the first front end's answer.
  std::vector<UniqueFd> listening_;
  std::vector<UniqueFd> plugins_;
  Patience patience_;
  std::optional<FoldMark> mark_;  // Set if there are plugins.
  struct FoldDeaths {
    int count = 0;
    Nanos last = 0;
  };
  std::map<StreamId, FoldDeaths> deaths_in_fold_;
  // True if the last front end died in a plugin whose stream is still merged.
  bool was_in_fold_ = false;
  std::string blame_;  // Text about the plugin; it is added to the message about the last death.

  pid_t pid_ = -1;
  UniqueFd control_;
  std::string heard_;  // Received part of an incomplete line.
  bool is_ready_ = false;
  bool is_done_ = false;
  std::string failure_;              // Error that the current front end sent instead of `ready`.
  std::string death_;                // Text that says how the last front end ended.
  bool is_death_undecided_ = false;  // True until attend() has reacted to the last death.

  Restarts restarts_;
  Nanos restart_at_ = 0;      // Time to start the next front end, while no front end runs.
  std::string failure_said_;  // The last failure that was reported.
  // `finish CODE` or `abandon`; set when the run begins to end.
  std::optional<std::string> last_line_;
  int deaths_while_finishing_ = 0;
  int interrupts_ = 0;
  Standstill standstill_;  // Measures hangs of the current front end.
  bool standstill_is_said_ = false;
  // Time at which the current front end was killed because it hung; 0: not killed.
  Nanos killed_at_ = 0;
  int standstills_ = 0;  // Number of front ends that hung and were killed during finish().
  bool is_given_up_ = false;
};

/// Returns the run's folder on this host: /dev/shm/xylem-UID-RUN.
std::string run_folder(const std::string& run);

/// The front end's own folder on its host, in the same directory as the run's folder. It contains a
/// Unix socket for agents and communication processes on the same host.
std::string front_end_folder(const std::string& run);
std::string front_end_socket(const std::string& run);

/// True if an agent of the run has a folder on this host. This may be a folder of another user, if
/// a rank has changed its user before it started the agent. The front end's own folder does not
/// count.
bool has_agent_folder(const std::string& run);

}  // namespace xylem::launch
