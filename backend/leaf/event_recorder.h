#pragma once

// Makes packets from the events of an EventSource: registrations, windows and chunks. An agent
// makes the same packets from rings.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/event_source.h"
#include "backend/leaf/journal.h"
#include "backend/leaf/window_builder.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/chunk.h"
#include "wire/profile.h"

namespace xylem::backend {

/// An EventRecorder reads no clock: the caller limits the age of chunks with make_chunks(). At most
/// kMaxPending events wait for their chunks. Each waiting event uses 64 bytes, up to twice that
/// while its vector grows. The open window uses about 1 MiB. Each rank with events uses about 4
/// KiB, and 2 KiB for each of its threads. There are also 8 bytes for each pair of rank and
/// function. Packets stay in memory until take() returns them. Not thread-safe.
///
/// A window is sealed when an event of a later slice comes, when it is large, or in finish(). So a
/// slice may have several windows, called parts. Account rows count the events that add() has
/// accepted.
class EventRecorder {
 public:
  static constexpr std::size_t kMaxPending = 64u << 10;
  /// Minimum of `journal_bytes`. With this size, no packet needs more than a quarter of the
  /// journal.
  static constexpr std::size_t kMinJournal = 8u << 20;

  /// `options` must be valid: see check(). Directly after construction, take() returns the
  /// registrations.
  EventRecorder(const EventSourceOptions& options, LeafId leaf, Nanos window_ns, bool chunks);

  /// Fails with kInvalidArgument; the message says what is wrong.
  static Result<void> check(const EventSourceOptions& options);

  /// Applies new values of the run's control. `chunks` applies from the next event on, `window_ns`
  /// from the next slice on.
  void configure(Nanos window_ns, bool chunks);

  /// Adds an event. Fails with kInvalidArgument if EventSource::add() would refuse the event.
  Result<void> add(const SourceCall& event);

  /// Makes chunks of all waiting events.
  void make_chunks();
  bool has_pending() const noexcept { return pending_ != 0; }

  /// Ends the ranks: seals everything, and marks the last window as last. Call it once; afterwards
  /// call only take().
  void finish();

  /// Returns the packets to journal, in order. Each packet is returned once.
  std::vector<Draft> take();

 private:
  struct Process {
    std::uint64_t captured = 0;
    std::uint64_t windowed = 0;
    std::uint64_t events = 0;
    std::uint64_t event_calls = 0;
    std::vector<std::uint64_t> calls_so_far;  // Calls of each function.
    std::vector<wire::Event> pending;
    wire::AccountRow told;
  };

  Result<void> check(const SourceCall& event) const;
  void register_ranks();
  void open_slice(std::uint64_t slice);
  void seal(bool last);
  void put_part(wire::ProfileWindow part, bool last);
  wire::AccountRow account_of(Lane lane, bool ended) const;
  void make_chunk(Process& process, Lane lane);
  Lane lane_of(std::size_t process) const { return Lane{static_cast<std::uint32_t>(process + 1)}; }

  const EventSourceOptions options_;
  const LeafId leaf_;
  Nanos window_ns_;
  bool chunks_;
  WindowBuilder builder_;
  wire::ChunkEncoder encoder_;
  std::vector<Process> processes_;  // Process i has rank first_rank + i and lane i + 1.
  std::size_t pending_ = 0;
  Nanos last_end_ = 0;
  std::uint64_t next_wave_ = 0;  // Next wave number of the window stream.
  std::vector<Draft> ready_;
};

}  // namespace xylem::backend
