#pragma once

// With an EventSource, a simulator or any other program sends events of processes to the monitor.
// The times are on the program's own clock. The tables and views of the store are the same as for
// MPI jobs. These events have an account too.
//
//   xylem run --detail trace -- ./simulator
//
//   auto source = xylem::backend::EventSource::join({.world = "ring of 64", .world_size = 64,
//                                                    .ranks = 64, .functions = {{"MPI_Send"}}});
//   (*source)->add({.rank = Rank{3}, .begin_ns = 100, .end_ns = 250, .peer = Rank{4}, .bytes = 8});
//   (*source)->close(10 * xylem::kSecond);
//
// An EventSource works under `xylem run` or after `eval "$(xylem serve)"`. It does not work in a
// tool's tree, since such a tree has no store.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/leaf.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"

namespace xylem::backend {

/// A function, as it appears in the table `function`.
struct SourceFunction {
  enum class Class : std::uint8_t {
    kOther = 0,
    kPointToPoint = 1,
    kCollective = 2,
    kCompletion = 3,
    kProbe = 4,
    kCommunicator = 5,
    kDatatype = 6,
    kOneSided = 7,
    kFile = 8,
    kEnvironment = 9,
    kTool = 10,
  };
  std::string name{};
  Class function_class = Class::kOther;
};

/// One call of a rank. Times are ns of the source's clock, from 0.
struct SourceCall {
  enum class Direction : std::uint8_t {
    kNone,
    kSend,     ///< Adds `bytes` to the traffic to `peer` in comm_matrix.
    kReceive,  ///< Adds the call's time to the waits for `peer` in wait_matrix.
  };
  Rank rank{};
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  FunctionId function{};  ///< Index into EventSourceOptions::functions.
  Direction direction = Direction::kNone;
  std::optional<Rank> peer{};  ///< The other side; empty: none.
  std::int32_t tag = -2147483647 - 1;
  std::uint64_t bytes = 0;
  ThreadIndex thread{};
  std::int32_t result = 0;
};

struct EventSourceOptions {
  /// Address, displayed host name, size of the journal (at least 8 MiB) and limits. The threading
  /// is always kOwnThread. While the front end lives, no event is given up: if the journal is full,
  /// add() waits.
  LeafOptions leaf{};
  /// Name of the clock that gives the times. It is shown in column `clock` of the view `rank`.
  std::string clock = "simulated";
  /// Shown as the program of the source's ranks. `program`, `clock` and the names of functions have
  /// at most 256 bytes.
  std::string program{};
  /// Name of the source's MPI_COMM_WORLD. Sources with the same `world` and `world_size` share one
  /// world, even in different processes.
  std::string world = "world";
  std::uint32_t world_size = 0;  ///< Number of ranks of the world, 1 to 2^20.
  Rank first_rank{};             ///< This source has the ranks [first_rank, first_rank + ranks).
  std::uint32_t ranks = 0;
  std::vector<SourceFunction> functions{};  ///< 1 to 1024 functions, each with a name.
};

/// Order of calls: join(), any number of add(), close(). Only one thread at a time may call them. A
/// thread of the library serves the links.
///
/// Each event that add() accepts counts exactly once, even if nodes of the tree die. If this
/// process or its host dies, the account is not complete. The run's `--detail` decides what is
/// stored. With `profile` the store gets windows. They are as long as the run's windows, but on the
/// source's clock. With `trace` each event is stored too.
class EventSource {
 public:
  /// Joins the run, and waits until the front end has assigned a place in the tree. Fails when the
  /// leaf cannot join (see Leaf::join). Fails with kInvalidArgument when ranks, world or functions
  /// are not valid.
  static Result<std::unique_ptr<EventSource>> join(EventSourceOptions options);
  /// Closes the source, and waits at most 1 s for the delivery of the remaining data.
  ~EventSource();
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;

  /// Adds an event. Waits while the journal is full. The events of all ranks together must come in
  /// the order of their ends, as a discrete-event simulation produces them.
  ///
  /// An event becomes visible when it has been sent and stored. A chunk of events (`trace`) is sent
  /// when it is full. Every 0.1 s of real time, the next add() sends all waiting events. A window
  /// is sent with the first event after the window's end on the source's clock, or earlier if it is
  /// large. close() sends the rest.
  ///
  /// Fails with kInvalidArgument if the event ends before the previous event, or before its own
  /// begin. Also fails with kInvalidArgument if the source does not have the event's rank or
  /// function, or if the world does not have the peer. An invalid event is not stored; later valid
  /// events are. Fails with kTimedOut after `timeout` (ns from now), and with kUnavailable when the
  /// run is over.
  Result<void> add(const SourceCall& call, Nanos timeout = 60 * kSecond);

  /// Ends the ranks, delivers the remaining data and leaves the run. Fails with kTimedOut if data
  /// was not delivered until the timeout; the message then says how much is lost. Fails with
  /// kUnavailable when the run has already ended, the front end was lost before the timeout, or
  /// close() was called before.
  Result<void> close(Nanos timeout);

 private:
  class Impl;
  explicit EventSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xylem::backend
