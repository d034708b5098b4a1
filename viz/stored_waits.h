#pragma once

// The wait states of a run that has ended, for a server or a screen that asks for them many times.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/shared_state.h"
#include "storage/read/query.h"
#include "storage/read/wait_states.h"

namespace xylem::viz {

/// Time that an answer waits for wait states before it is given with the estimate: enough for about
/// five million events.
constexpr Nanos kStoredWaitsPatience = 1 * kSecond;

/// A run whose file has not changed for so long counts as ended: a front end that lives commits
/// each second, as long as it hears from any agent.
constexpr Nanos kStoredWaitsQuiet = 30 * kSecond;

/// Computes the wait states of one run's file in a thread of its own, and keeps them as long as the
/// file is unchanged (file_stamp.h). So any number of requests costs one analysis, and a request
/// does not have to wait for the analysis of a large trace. For a million events, the analysis
/// takes about 0.2 s. It reads all chunks, and needs up to 300 MB. Results are shared, see
/// storage::WaitStates. Thread-safe.
///
/// If an analysis fails (no memory, no thread, no file), the result has only a `fault` that says
/// why. The next call tries again.
class StoredWaits {
 public:
  explicit StoredWaits(std::string file) : file_(std::move(file)) {}
  StoredWaits(const StoredWaits&) = delete;
  StoredWaits& operator=(const StoredWaits&) = delete;
  /// Ends an analysis that is under way.
  ~StoredWaits();

  /// Returns the wait states of the file as it is now. Starts their analysis if necessary, and
  /// waits for it until `deadline`, or until `*given_up` is true. `run` is the same file, opened by
  /// the caller. Returns null
  /// - if they are not known by then. A later call may get them.
  /// - while the run is in progress. Its file changes with each commit, and each time the analysis
  ///   would have to read all events again. A run without an end, for example because its front end
  ///   was killed, counts as in progress until its file has not changed for kStoredWaitsQuiet.
  /// - if the file cannot be read.
  std::shared_ptr<const storage::WaitStates> get(storage::RunFile& run, Nanos deadline,
                                                 const std::atomic<bool>* given_up = nullptr);
  /// The same, for answers that an estimate serves too. Waits for at most kStoredWaitsPatience, and
  /// not at all if an earlier call has waited for the same analysis in vain: otherwise a few
  /// clients would hold all of a server's threads during a long analysis.
  std::shared_ptr<const storage::WaitStates> get_soon(storage::RunFile& run,
                                                      const std::atomic<bool>* given_up = nullptr);

  /// Returns a text. When it changes, an answer that was given before is out of date: the file has
  /// changed (file_stamp.h), an analysis has ended after a get() had returned without it, or the
  /// file of a run that was in progress has not changed for kStoredWaitsQuiet.
  std::string stamp() const;

 private:
  struct State {
    /// Of the file that is or was analysed. Empty at first, and after a failure.
    std::optional<std::string> stamp;
    bool is_under_way = false;
    bool has_failed = false;
    bool is_in_progress = false;  ///< So the newest get() has found.
    bool is_missed = false;       ///< A get() has returned without the analysis that is under way.
    std::shared_ptr<const storage::WaitStates> states;
    std::uint64_t late = 0;
  };
  std::shared_ptr<const storage::WaitStates> wait(storage::RunFile& run, Nanos deadline,
                                                  const std::atomic<bool>* given_up,
                                                  bool is_patient);
  /// False if the system refuses a thread.
  bool start(State& state, std::string stamp);
  void analyse();

  std::string file_;
  std::atomic<bool> has_ended_ = false;  ///< The destructor was called.
  /// A cache. Any thread may ask for the result and wait until the analysis has ended.
  SharedState<State> state_;
  std::thread thread_;  ///< Only the thread that has locked `state_` changes it.
};

}  // namespace xylem::viz
