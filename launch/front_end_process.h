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
/// so that a front end that died gets a successor at the same addresses, with the same store and
/// the same filters: at once, then with growing pauses (see Restarts). One that merely stands still
/// while the job runs is left alone, since it is not dead; where its answer is waited for, at its
/// start and at the end, this is said, and later it is killed (see Patience). The plugin in which
/// kMaxFoldDeaths of them died, none kFoldDeathsForgotten after the one before, is not called by
/// those that follow: its stream's waves are kept unmerged. Each runs in a session of its own, so
/// that keys pressed at the terminal do not reach it.
///
/// Life: start(); attend() whenever it asks for it, while the job runs; finish() or abandon() once.
/// One thread.
/// Reaps the front ends only; no other child is touched.
class FrontEndProcess {
 public:
  /// Says a sentence to the user.
  using Say = std::function<void(const std::string& sentence)>;

  /// How long a front end that stands still (see Standstill) is waited for.
  struct Patience {
    Nanos until_said = 5 * kSecond;
    Nanos until_killed = 20 * kSecond;
    /// One that does not end although it was killed, since the system does not let it, is left.
    Nanos until_left = 5 * kSecond;
  };

  /// Starts `program` and waits until it has opened the store. `plugins` are the copies of
  /// setup.plugins. Fails with its sentence when it cannot, kNotFound when the program cannot be
  /// started, kUnavailable when it died or stood still for too long, kExhausted when there are not
  /// enough descriptors. Says that it stands still by `say`.
  static Result<FrontEndProcess> start(const std::string& program, Setup setup,
                                       std::vector<UniqueFd> listening,
                                       std::vector<UniqueFd> plugins = {}, const Say& say = {},
                                       const Patience& patience = {5 * kSecond, 20 * kSecond,
                                                                   5 * kSecond});

  /// Looks after it; never waits. To be called when a child of this process may have ended, and at
  /// the latest after what it returned the last time (nothing: no need). Says when a front end died
  /// and what is done about it, and when a successor cannot go on with the store; the same failure
  /// is said once.
  std::optional<Nanos> attend(Nanos now, const Say& say);

  /// Tells it that the job has ended, and waits until everything is stored, by a successor or two
  /// if need be. Fails with kUnavailable when they died, or could not open the store, kMaxDeaths
  /// times meanwhile, not counting deaths in plugins that are then left out. Of the signals that
  /// SignalGate blocks, a first one is answered with a sentence; a second one ends the front end
  /// for good, which fails alike. So does the end of kMaxStandstills front ends that stood still.
  Result<void> finish(int exit_code, const Say& say);

  /// In place of finish(), when the job was not started: the run is ended without an account, and
  /// leaves no store. Waits and fails as finish().
  Result<void> abandon(const Say& say);

  static constexpr int kMaxDeaths = 5;
  static constexpr int kMaxStandstills = 2;
  static constexpr int kMaxFoldDeaths = 3;
  /// Longer than any pause of Restarts and what a successor needs until it is sent the same wave
  /// again. Not while the job's end is stored, so that this has an end.
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
  std::string failure_;  // What the present one answered instead of ready.
  std::string death_;    // How the last one ended.

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

/// The folder where the agents of this host meet: /dev/shm/xylem-UID-RUN.
std::string run_folder(const std::string& run);

/// The front end's own folder on its host, beside that, and the socket in it at which agents and
/// communication processes of this host reach it.
std::string front_end_folder(const std::string& run);
std::string front_end_socket(const std::string& run);

}  // namespace xylem::launch
