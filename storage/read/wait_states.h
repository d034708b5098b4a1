#pragma once

// Wait states: time in MPI calls in which a rank waited because another rank came late.
//
// Each wait state has a kind and a cause. The kinds are those of Scalasca (M. Geimer et al., "The
// Scalasca performance toolset architecture", 2010):
//
//   late_sender         A receive began before its message was sent. The call waited from its begin
//                       until the send began. The cause is the sender.
//                       A probe waits in the same way.
//   late_receiver       A blocking send began before its receive was posted, and returned after
//                       that. It waited from its begin until the receive was posted. The cause is
//                       the receiver. A send that returned earlier was buffered and did not wait.
//                       The same holds for a call that waits for an MPI_Isend.
//   wait_at_collective  In a synchronising collective, a rank waited until the last rank began.
//                       The cause is the last rank.
//   late_root           A rank waited in a broadcast or scatter until the root began.
//   early_root          The root of a reduce or gather waited until the last other rank began. The
//                       cause is that rank.
//
// The wait for a collective that does not block is of the same three kinds: a rank waits until the
// last rank, or the root, has posted it.
//
// No wait is longer than its call. If a call waits for several messages, it is charged for them in
// the order in which they stopped being the reason: two messages that are sent 0.16 s and 4.19 s
// after an MPI_Waitall began cost 0.16 s and 4.03 s. An MPI_Sendrecv is charged for its receive
// first. Only if it lasted until the receive of its own message was posted, later, the rest is
// charged for its send. A message of less than 1 KiB is taken as buffered there.
//
// The trace says which requests a call has completed. A call that completes several, such as
// MPI_Waitall, is charged for its sends in the same way: only for time that its receives and
// collectives do not explain, and messages of less than 1 KiB do not count.
//
// A probe waits for the message of the next receive on its channel that is posted after it.
//
// The direct cause of a wait may have waited itself. The root cause is found by following the
// causes: at each moment of a wait, if the thread that causes it is in a wait state at this moment,
// the cause of that wait state is followed, until a thread is not waiting. So in a ring with one
// slow rank, the slow rank is the root cause of the waits of all others. One wait may have several
// root causes, one after another. Until its call returns, a thread that has waited counts as
// waiting for the last cause here, because its message is on its way. The time in which a thread
// computes is its own, also if it began to compute late because of another rank.
//
// Not analysed: scan, exscan and collectives on neighbours, blocking or not; persistent
// collectives; the waits for any of these; rooted collectives on intercommunicators; MPI_Isendrecv;
// partitioned communication; waits for requests that are not known, for example in files of xylem
// versions that did not number requests (wire::kChunkVersion). Calls that are not analysed are
// counted, see WaitCoverage. MPI_Test and MPI_Iprobe do not block, so their time is not waiting
// time here, although a loop of them may wait.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "storage/call_roles.h"
#include "storage/read/message_matcher.h"
#include "wire/chunk.h"

namespace xylem::storage {

enum class WaitKind : std::uint8_t {
  kLateSender,
  kLateReceiver,
  kWaitAtCollective,
  kLateRoot,
  kEarlyRoot,
};
/// "late_sender", "late_receiver", "wait_at_collective", "late_root" or "early_root".
const char* wait_kind_name(WaitKind kind);
/// The same for people: "late sender".
const char* wait_kind_words(WaitKind kind);

/// The waits of a rank with the same cause, kind, function and root cause, over the whole run.
struct WaitState {
  WorldId world{};
  Rank rank{};
  /// nullopt in both: there are more than kMaxWaitRows different rows. This row is the sum of the
  /// others.
  std::optional<Rank> cause_rank, root_rank;
  WaitKind kind{};
  std::string function;
  Nanos time_ns = 0;
  std::uint64_t calls = 0;  ///< Calls with a part of this time. A call may be in several rows.
  bool operator==(const WaitState&) const = default;
};
constexpr std::size_t kMaxWaitRows = 1u << 20;

/// Why the waiting time of a call is not known, or not completely.
enum class NotAnalysed : std::uint8_t {
  kNoNumber,    ///< A message or collective of the call has no number. Older xylem gave none.
  kMissing,     ///< The event of another rank is missing: it was lost, or is not stored yet.
  kAmbiguous,   ///< Two threads used a channel at the same time, see message_matcher.h.
  kNotCovered,  ///< A call of a kind that is not analysed, for example MPI_Scan.
};
constexpr std::size_t kNotAnalysedReasons = 4;
/// "no_number", "missing", "ambiguous" or "not_covered".
const char* not_analysed_name(NotAnalysed reason);

/// How much of the time in a world could be analysed. The time that could be waiting is the time of
/// all blocking calls: blocking sends and receives, probes, completions, and collectives. Times are
/// sums over all threads of all ranks.
struct WaitCoverage {
  struct Part {
    std::uint64_t calls = 0;
    Nanos time_ns = 0;
    bool operator==(const Part&) const = default;
  };
  WorldId world{};
  Part blocking;  ///< All blocking calls.
  Part analysed;  ///< The blocking calls whose waits are completely known.
  std::array<Part, kNotAnalysedReasons> not_analysed{};  ///< The others, by NotAnalysed.
  Nanos waiting_ns = 0;                                  ///< Sum of the world's wait states.
  /// Waiting time whose root cause was perhaps not followed to its end, because too many waits were
  /// in flight. Its root cause may be a rank that waited itself.
  Nanos unfollowed_ns = 0;
  /// Share of the blocking time that is analysed, 0 to 1; 0 without blocking time.
  double share() const;
};

/// The result of an analysis. It is never changed, and passed as a `shared_ptr`: answers and open
/// queries may still use a result after a newer one has replaced it.
struct WaitStates {
  std::vector<WaitState> rows;       ///< The longest first.
  std::vector<WaitCoverage> worlds;  ///< In the order of ids.
  /// Why the events cannot be read: a chunk is damaged. Usually empty. If not, there are no rows.
  std::string fault;
  /// Null for a world without events.
  const WaitCoverage* of(WorldId world) const;
  /// True if the waits of at least one call of the world are known. Events of older versions have
  /// no numbers, so their waits are unknown.
  bool knows(WorldId world) const;
};

/// A function of a run.
struct WaitFunction {
  std::string name;
  CallRole role = CallRole::kOther;
};

/// The index of a WaitFunction in the list of an analysis. It is not the FunctionId of an event:
/// that may stand for different functions on different leaves.
enum class FunctionIndex : std::uint32_t {};

/// Computes the wait states of a run from its events.
///
/// First add all processes, their threads and communicators. Then add events: those of a process in
/// the order of their records, those of different processes in any order. finish() gives the
/// result, which does not depend on the order of the processes, except for `unfollowed_ns` and for
/// clocks that differ by more than kClockSlack.
///
/// To limit the memory, add the events of all processes in the order of time, and call promise()
/// for all processes now and then. The memory is then that of the messages, collectives and calls
/// in flight, and of the waits since the begin of the oldest call in flight. The waits and the rows
/// take at most about 300 MB.
///
/// Each process must come from add_process(), and each function must be an index into the
/// constructor's `functions`. This is not checked: another index is undefined behaviour. Not
/// thread-safe.
class WaitAnalysis {
 public:
  explicit WaitAnalysis(std::vector<WaitFunction> functions);
  ~WaitAnalysis();
  WaitAnalysis(const WaitAnalysis&) = delete;
  WaitAnalysis& operator=(const WaitAnalysis&) = delete;

  /// Adds a process. Its index is the number of processes that were added before. If a rank is
  /// added again, both processes exist and have their own calls. Their messages are paired as
  /// MessageMatcher::add_process() says.
  ProcessIndex add_process(WorldId world, Rank rank);
  /// Several threads of the process call MPI.
  void expect_threads(ProcessIndex process);
  /// The process has events on this communicator. All members must be added before the first event.
  void add_member(ProcessIndex process, CommId comm);
  /// The number of ranks of MPI_COMM_WORLD, if some of them may have no process here. Collectives
  /// on it are then not analysed.
  void expect_ranks(WorldId world, std::uint64_t ranks);

  void add(ProcessIndex process, FunctionIndex function, const wire::Event& event);
  /// Promises that no later event of the process begins before `begin`. Promises may only grow.
  void promise(ProcessIndex process, Nanos begin);
  /// The process has no more events.
  void end(ProcessIndex process);

  /// Call it once, after the last event.
  WaitStates finish();

  /// Number of objects in memory: halves of messages, calls, requests, arrivals, waits.
  std::size_t in_flight() const;

 private:
  struct State;  // wait_analysis_internal.h
  std::unique_ptr<State> state_;
};

}  // namespace xylem::storage
