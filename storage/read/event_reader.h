#pragma once

// The events of a run's trace in the order of time: of all ranks together, or of one rank. It is
// for everything that reasons from a trace: the analysis of waits, exports, simulators.
//
//   auto run = RunFile::open("run.db");
//   (*run)->hold();                                // A run in progress: all of it from one commit.
//   auto reader = (*run)->events({.rank = Rank{3}});
//   EventReader::Item item;
//   while (reader->next(item)) use(item);
//   const Result<void> read = reader->take();      // Why it ended too early, if it did.
//   reader.reset();
//   (*run)->release();
//
// Order: by the begin of the call. Events of one process with the same begin keep the order of
// their records, so a completion follows the call that completed its request. Events of different
// processes with the same begin are in the order of processes(). Times of ranks on different hosts
// are as exact as the clocks (view `clock`). In a damaged file, a chunk may contain earlier times
// than its row says. Then the order is wrong, but each event is still returned once.
//
// Gaps: an event that was lost is not returned, and nothing marks its place. The view
// `account_event` has the number of lost events of each rank; `loss` has the reasons, and the calls
// that never became an event because a ring was full. A sampled event stands for several calls
// (wire::Event::calls, wire::kEventEstimated).
//
// Memory: one decoded chunk of each process that has events at the current time, about 0.5 MB for a
// full one, plus 2 MB. If chunks of a process overlap, because several of its threads call MPI, all
// of them are kept. The length of the trace does not matter.
//
// Time: the stream of a rank takes at most 1.5 times as long as decoding its chunks, if its threads
// call MPI one at a time. The merge of all ranks adds a step for each event that another rank's
// event precedes: tests/bench/bench_events.cc, figures in docs/performance.md.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "storage/read/wait_states.h"
#include "wire/chunk.h"

namespace xylem::storage {

class Connection;

/// Selects events. All conditions must hold.
struct EventQuery {
  std::optional<WorldId> world{};
  std::optional<Rank> rank{};
  /// Only the process with this EventReader::Process::id. It is the key of the table `process`.
  std::optional<std::int64_t> process{};
  /// Events that begin in [begin_ns, end_ns). Chunks outside are not decoded.
  Nanos begin_ns = std::numeric_limits<Nanos>::min(), end_ns = std::numeric_limits<Nanos>::max();
  /// Leaves out processes that never registered as a rank.
  bool only_ranks = false;
  /// Only the begins and ends of regions, which are left out otherwise.
  bool regions = false;
  /// If not null, only events for which it returns true. To filter here is cheaper than after the
  /// merge.
  bool (*takes)(const wire::Event& event, CallRole role) = nullptr;
};

/// One pass over the events. Not thread-safe: it uses the connection of the file, so it belongs to
/// the thread of the RunFile, and must be destroyed before it. Several readers of one file may
/// alternate.
class EventReader {
 public:
  struct Process {
    std::int64_t id = 0;
    LeafId leaf{};
    std::optional<WorldId> world{};  ///< nullopt: it never registered.
    std::optional<Rank> rank{};
    std::string host{};  ///< "" if it is unknown.
    std::int64_t pid = 0;
    bool has_one_thread = false;  ///< False also if the file does not say it.
  };
  struct Item {
    ProcessIndex process{};
    FunctionIndex function{};            ///< Index into functions().
    const wire::Event* event = nullptr;  ///< Valid until the next call.
  };

  /// What an analysis must know of a process before its first event.
  struct Surveyed {
    std::set<CommId> comms;      ///< The communicators of its events.
    bool has_one_thread = true;  ///< Its threads never called MPI at the same time.
  };

  /// Reads the lists of processes and functions. Borrows the connection. RunFile::events() is the
  /// way to it outside of this folder.
  EventReader(Connection& connection, const EventQuery& query);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// The processes with chunks, by world, rank and registration; those without a rank come first.
  const std::vector<Process>& processes() const;
  /// The first one stands for all functions that the file does not name.
  const std::deque<WaitFunction>& functions() const;
  /// The name of the event's function; "function N" if the file does not name it.
  const std::string& function_name(const Item& item);
  /// The key of a call site in the table `callsite`; nullopt if the file does not know it.
  std::optional<std::int64_t> call_site(CallSiteId site) const;

  /// The next event. Returns false at the end and on a failure.
  bool next(Item& item) {
    do {
      if ((at_ == end_ || at_->begin_ns >= limit_ns_) && !advance()) return false;
      const std::size_t id = raw(at_->function);
      item = {process_, id < table_.size() ? table_[id] : FunctionIndex{}, at_};
      ++at_;
    } while ((item.event->kind == wire::kKindRegion) != wants_regions_);
    return true;
  }

  /// No later event of the process begins before this time; the largest time if there is none.
  Nanos horizon(ProcessIndex process) const;

  /// Decodes all chunks of a process, whatever the query's times. Independent of next().
  Surveyed survey(ProcessIndex process);

  /// Why next() or survey() ended too early: kCorrupt names a damaged chunk. Success if they did
  /// not. After a failure nothing is read until take() is called, and the stream is over.
  Result<void> take();

 private:
  struct State;
  bool advance();

  // The events that come before those of all other cursors: [at_, end_) as far as they begin before
  // `limit_ns_`.
  const wire::Event* at_ = nullptr;
  const wire::Event* end_ = nullptr;
  Nanos limit_ns_ = 0;
  ProcessIndex process_{};
  bool wants_regions_ = false;
  std::span<const FunctionIndex> table_;  // By FunctionId, of this process.
  std::unique_ptr<State> state_;
};

}  // namespace xylem::storage
