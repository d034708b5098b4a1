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

/// Keeps a run's front end alive. The listening sockets, copies of plugins and the setup stay here,
/// so that a dead front end gets a successor at the same addresses, with the same store and
/// filters: at once, then with growing pauses (see Restarts). A front end that hangs while the job
/// runs is left alone, since it is not dead. At its start and at the end, when its answer is
/// needed, a hang is reported, and later the front end is killed (see Patience). If kMaxFoldDeaths
/// front ends died in the same plugin, with less than kFoldDeathsForgotten between them, successors
/// do not call that plugin: its stream's waves stay unmerged. Each front end runs in its own
/// session, so that keys pressed at the terminal do not reach it.
///
/// Order of calls: start(); attend() at the times it returns, while the job runs; finish() or
/// abandon() once. One thread. Reaps only the front ends, no other child.
class FrontEndProcess {
 public:
  /// Says a sentence to the user.
  using Say = std::function<void(const std::string& sentence)>;

  /// Timeouts for a front end that hangs (see Standstill).
  struct Patience {
    Nanos until_said = 5 * kSecond;
    Nanos until_killed = 20 * kSecond;
    /// After this, a killed front end that the system does not end is left alone.
    Nanos until_left = 5 * kSecond;
  };

  /// Starts `program` and waits until it has opened the store. `plugins` are the copies of
  /// setup.plugins. Fails with its sentence when it cannot open it, kNotFound when the program
  /// cannot be started, kUnavailable when it died or hung for too long, kExhausted when there are
  /// not enough descriptors. Reports a hang with `say`.
  static Result<FrontEndProcess> start(const std::string& program, Setup setup,
                                       std::vector<UniqueFd> listening,
                                       std::vector<UniqueFd> plugins = {}, const Say& say = {},
                                       const Patience& patience = {5 * kSecond, 20 * kSecond,
                                                                   5 * kSecond});

  /// Supervises the front end; never waits. Call it when a child of this process may have ended,
  /// and at the latest after the returned time (nothing: no limit). Says when a front end died and
  /// what happens next, and when a successor cannot continue the store; the same failure is said
  /// once.
  std::optional<Nanos> attend(Nanos now, const Say& say);

  /// Tells it that the job has ended, and waits until everything is stored, if necessary by
  /// successors. Fails with kUnavailable when front ends died, or could not open the store,
  /// kMaxDeaths times meanwhile (not counting deaths in plugins that are then left out), or when
  /// kMaxStandstills of them hung and were killed. The first of the signals that SignalGate blocks
  /// is answered with a sentence; the second ends the front end for good, which fails in the same
  /// way.
  Result<void> finish(int exit_code, const Say& say);

  /// Instead of finish(), if the job was not started: ends the run without an account and without a
  /// store. Waits and fails as finish().
  Result<void> abandon(const Say& say);

  static constexpr int kMaxDeaths = 5;
  static constexpr int kMaxStandstills = 2;
  static constexpr int kMaxFoldDeaths = 3;
  /// Longer than any pause of Restarts plus the time until a successor gets the same wave again.
  /// Does not apply while the job's end is stored, so that finish() ends.
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
  Setup setup_;  // live_path is filled in by the first front end's answer.
  std::vector<UniqueFd> listening_;
  std::vector<UniqueFd> plugins_;
  Patience patience_;
  std::optional<FoldMark> mark_;  // Where there are plugins.
  struct FoldDeaths {
    int count = 0;
    Nanos last = 0;
  };
  std::map<StreamId, FoldDeaths> deaths_in_fold_;
  bool was_in_fold_ = false;  // The last death, in that of a plugin that was not left out yet.
  std::string blame_;         // What is to be said of the last death, besides.

  pid_t pid_ = -1;
  UniqueFd control_;
  std::string heard_;  // Of the line that is not yet whole.
  bool is_ready_ = false;
  bool is_done_ = false;
  std::string failure_;              // What the present one answered instead of ready.
  std::string death_;                // How the last one ended.
  bool is_death_undecided_ = false;  // What follows from it: attend() decides.

  Restarts restarts_;
  Nanos restart_at_ = 0;  // Of the next one, while there is none.
  std::string failure_said_;
  std::optional<std::string> last_line_;  // What it is told at the end: ending since it is set.
  int deaths_while_finishing_ = 0;
  int interrupts_ = 0;
  Standstill standstill_;  // Of the present one.
  bool standstill_is_said_ = false;
  Nanos killed_at_ = 0;  // Because it stood still; 0: it was not.
  int standstills_ = 0;  // At the end.
  bool is_given_up_ = false;
};

/// The run's folder on this host: /dev/shm/xylem-UID-RUN.
std::string run_folder(const std::string& run);

/// The front end's own folder on its host, next to it, and the socket there for agents and
/// communication processes of this host.
std::string front_end_folder(const std::string& run);
std::string front_end_socket(const std::string& run);

}  // namespace xylem::launch
