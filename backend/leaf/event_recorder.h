#pragma once

// Turns a source's events into the packets that an agent makes of its rings: registrations, windows
// and chunks.

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

/// Pure: told the events and, for chunks that should not wait for ever, the time. Memory: 72 bytes
/// for each event that waits for its chunk (at most kMaxPending), the open window (about 1 MiB),
/// 8 bytes per rank and function; what take() has not fetched. Not thread-safe.
///
/// A window is sealed when an event of a later slice comes, or when it is large; a slice may have
/// several parts. Account rows count what was given to add().
class EventRecorder {
 public:
  static constexpr std::size_t kMaxPending = 64u << 10;
  /// Of journal_bytes: no packet needs more than a quarter of it.
  static constexpr std::size_t kLeastJournal = 8u << 20;

  /// The options make sense (check()). Names and ranks are ready to be taken at once.
  EventRecorder(const EventSourceOptions& options, LeafId leaf, Nanos window_ns, bool chunks);

  /// Fails with kInvalidArgument and what is wrong.
  static Result<void> check(const EventSourceOptions& options);

  /// The run's control has changed: counts from the next event on.
  void configure(Nanos window_ns, bool chunks);

  /// As EventSource::add().
  Result<void> add(const SourceCall& event);

  /// Makes chunks of all events that wait.
  void make_chunks();
  bool has_pending() const noexcept { return pending_ != 0; }

  /// The ranks have ended: seals everything; the last window says so. Once, and nothing after it.
  void finish();

  /// Packets in the order in which they are to be journalled, each once.
  std::vector<Draft> take();

 private:
  struct Process {
    std::uint64_t captured = 0;
    std::uint64_t windowed = 0;
    std::uint64_t events = 0;
    std::uint64_t event_calls = 0;
    std::vector<std::uint64_t> calls_so_far;  // By function.
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
  std::vector<Process> processes_;  // By rank, from first_rank on; lanes are one more.
  std::size_t pending_ = 0;
  Nanos last_end_ = 0;
  std::uint64_t next_wave_ = 0;  // Of the window stream.
  std::vector<Draft> ready_;
};

}  // namespace xylem::backend
