#pragma once

// A simulator, or any program that produces events of processes with times of its own clock, as a
// source of events for the monitor. Its events are stored in the same tables and views as those of
// MPI jobs, with an account.
//
//   xylem run --detail trace -- ./simulator
//
//   auto source = xylem::backend::EventSource::join({.world = "ring of 64", .world_size = 64,
//                                                    .ranks = 64, .functions = {{"MPI_Send"}}});
//   (*source)->add({.rank = Rank{3}, .begin_ns = 100, .end_ns = 250, .peer = Rank{4}, .bytes = 8});
//   (*source)->close(10 * xylem::kSecond);
//
// It works under `xylem run` or after `eval "$(xylem serve)"`; a tool's tree has no store.

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

/// As the table `function` shows it.
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
    kSend,     ///< Counts `bytes` to `peer` in comm_matrix.
    kReceive,  ///< Counts the time as spent waiting for `peer` in wait_matrix.
  };
  Rank rank{};
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  std::uint16_t function = 0;  ///< Place in EventSourceOptions::functions.
  Direction direction = Direction::kNone;
  std::optional<Rank> peer{};  ///< The other side; empty: none.
  std::int32_t tag = -2147483647 - 1;
  std::uint64_t bytes = 0;
  std::uint32_t thread = 0;
  std::int32_t result = 0;
};

struct EventSourceOptions {
  /// Address, displayed host name, journal (at least 8 MiB) and limits. The threading is always
  /// kOwnThread. Nothing is given up while the front end lives: add() waits instead.
  LeafOptions leaf{};
  /// Describes the clock of its times, for people: column `clock` of the view `rank`.
  std::string clock = "simulated";
  std::string program{};  ///< Shown as the program of its ranks. At most 256 bytes, as all names.
  /// Its MPI_COMM_WORLD. Sources with the same name and size, also in different processes, share
  /// one world.
  std::string world = "world";
  std::uint32_t world_size = 0;
  std::uint32_t first_rank = 0;  ///< This source has the ranks [first_rank, first_rank + ranks).
  std::uint32_t ranks = 0;
  std::vector<SourceFunction> functions{};  ///< At most 1024, each with a name.
};

/// Order of calls: join(); any number of add(); close(). Called by one thread at a time; a thread
/// of the library serves the links.
///
/// An event taken by add() is stored exactly once, whichever node dies. If this process or its host
/// dies, the account reports the loss. The run's detail decides what is stored: with `profile`
/// windows of time (by the source's clock, as long as the run's), with `trace` each event too.
class EventSource {
 public:
  /// Waits until the front end has given it a place. Fails as Leaf::join() does, and with
  /// kInvalidArgument when ranks, world or functions make no sense.
  static Result<std::unique_ptr<EventSource>> join(EventSourceOptions options);
  /// Closes, with 1 s to deliver the rest.
  ~EventSource();
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;

  /// Add events in the order of their ends, over all ranks of the source, as a discrete-event
  /// simulation produces them. Waits while the journal is full. An event becomes visible when a
  /// tenth of a second or a window has passed and another event comes, or at close(). Fails with
  /// kInvalidArgument for an event that ends before the last one or before it begins, or whose rank
  /// or function is not the source's. That event is not taken; later ones may be. Fails with
  /// kTimedOut (`timeout` in ns from now), and with kUnavailable when the run is over.
  Result<void> add(const SourceCall& call, Nanos timeout = 60 * kSecond);

  /// Ends the ranks, delivers the rest and leaves. Fails with kTimedOut and says what is lost;
  /// kUnavailable when the run ended before.
  Result<void> close(Nanos timeout);

 private:
  class Impl;
  explicit EventSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xylem::backend
