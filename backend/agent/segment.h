#pragma once

// The agent's view of a monitored process's segment (capture/core/ring.h).
//
// The process is not trusted: it may write anything, at any time. This class checks all data of the
// process. So a hostile process can falsify only its own numbers. Sizes are checked against the
// file, which is sealed against shrinking. Offsets are computed from constants, indices are masked,
// and records are copied before use.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/agent/call_watch.h"
#include "backend/leaf/mapping.h"
#include "backend/leaf/ring_progress.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "capture/core/ring.h"
#include "wire/chunk.h"
#include "wire/registration.h"

namespace xylem::backend {

/// A process's counters, summed over its threads.
struct SegmentCounters {
  std::uint64_t calls = 0;          ///< All calls, also those of threads without a ring.
  std::uint64_t lost = 0;           ///< Lost calls, also those of threads without a ring.
  std::uint64_t lost_messages = 0;  ///< Sends without a record, because the ring was full.
  std::uint64_t lost_message_bytes = 0;
  std::uint64_t lost_receives = 0;  ///< Receives without a record, because the ring was full.
  /// Parts of calls without a record, for the same reason: starts and completions of requests, and
  /// blocks of collectives. Sends and receives are not included.
  std::uint64_t lost_parts = 0;
  std::uint64_t untracked_receives = 0;  ///< Receives whose completion could not be followed.
  bool operator==(const SegmentCounters&) const = default;
};

/// A call that has begun and has not returned, as its thread has published it.
struct OpenCall {
  std::uint64_t begin = 0;  ///< Ticks of the segment's clock; never 0.
  FunctionId function{};
  std::int32_t peer = capture::kNoPeer;  ///< kNoPeer, or 0 and above.
  CommId comm = wire::kNoComm;
  bool operator==(const OpenCall&) const = default;
};

/// A region that a thread has named (RegionTable in capture/core/ring.h).
struct SegmentRegion {
  std::uint64_t region = 0;
  std::uint64_t visits = 0;   ///< With those that have not ended.
  std::uint64_t time_ns = 0;  ///< Of the visits that have ended. The same holds for `max_ns`.
  std::uint64_t max_ns = 0;
  std::uint64_t mpi_ticks = 0;    ///< Of all visits, with the calls that have returned.
  bool is_estimated = false;      ///< Some of the calls inside were not timed.
  std::vector<Nanos> open_since;  ///< Begins of the visits that have not ended, monotonic.
};

struct SegmentRegions {
  std::vector<SegmentRegion> all;
  /// End of the last call that the sums include, in ticks.
  std::uint64_t mpi_until = 0;
  std::uint64_t dropped = 0;       ///< Visits that were not counted.
  std::uint64_t lost_records = 0;  ///< Begins and ends without a record.
};

/// A mapped segment. Not thread-safe. The process may have ended. The records of a ring are mapped
/// when they are first needed; this needs no descriptor.
class Segment {
 public:
  /// Seals the file of the segment against shrinking, checks it and maps all of it except the
  /// records.
  ///
  /// Fails with kCorrupt when the file is too small or its magic, version or sizes are invalid.
  /// Fails with kPermissionDenied when the file cannot be sealed, since the process could then
  /// truncate it during use. Only a memfd made with MFD_ALLOW_SEALING can be sealed. Fails with
  /// kInternal when the system cannot map the file.
  static Result<Segment> map(const UniqueFd& fd);

  // ---- Data that the process has written. Texts are cut and made printable. ----
  std::uint32_t pid() const noexcept { return pid_; }
  std::uint64_t start_time() const noexcept { return start_time_; }
  capture::ClockKind clock() const noexcept { return clock_; }
  capture::ProcessState state() const noexcept;
  /// True if the process has called MPI_Finalize, or has exited normally.
  bool has_finalized() const noexcept;
  /// Describes the process. The caller sets `lane`. World, rank and size are set if MPI_Init has
  /// returned.
  wire::ProcessRow describe() const;
  /// The function table; empty before the process has filled it.
  std::vector<wire::FunctionRow> functions() const;
  /// The ids of the table's functions, in order.
  std::span<const FunctionId> function_ids() const noexcept;

  /// Number of rings used so far, at most kMaxThreads.
  std::uint32_t rings() const noexcept;
  /// Number of slots of a ring.
  std::uint32_t capacity(std::uint32_t ring) const noexcept;
  SegmentCounters counters() const;
  /// Number of calls of a function over all threads. It includes inner calls: calls that a signal
  /// handler or a callback makes during another call.
  std::uint64_t calls(FunctionId function) const;
  /// Number of lost calls of a function over all threads.
  std::uint64_t lost(FunctionId function) const;
  /// True if only some calls of the function have a record.
  bool is_sampled(FunctionId function) const;
  /// True if the function returns immediately, whatever other ranks do.
  bool never_waits(FunctionId function) const;

  // ---- Records ----
  /// Number of records that can be read from `position` on, at most capacity(ring). Returns 0 if
  /// there is no address space to map the ring. Also returns 0 if the head is invalid, that is,
  /// before the tail or more than a ring's length after the tail.
  std::uint64_t available(std::uint32_t ring, std::uint64_t position) const noexcept;
  /// Number of records from `position` on that cannot be read because the ring could not be mapped.
  /// If this number is not 0, available() is 0.
  std::uint64_t unreadable(std::uint32_t ring, std::uint64_t position) const noexcept;
  /// Allows mapping rings again after a failure, until the next failure.
  void retry_mapping() noexcept { has_failed_ = false; }
  /// The system's error for the last ring that could not be mapped; empty if mapping has never
  /// failed.
  const std::string& why_unreadable() const noexcept { return why_unreadable_; }
  /// Number of calls of a function that have a record in this ring, or will have one. Calls with
  /// overwritten records count too. One record may represent several calls (capture/core/ring.h).
  std::uint64_t recorded_calls(std::uint32_t ring, FunctionId function) const;
  /// The number after the ring's last record. After freeze(), records that came later do not count.
  std::uint64_t end(std::uint32_t ring) const noexcept;
  /// Copies up to out.size() records from `position` on; returns how many.
  std::size_t read(std::uint32_t ring, std::uint64_t position,
                   std::span<capture::Record> out) const;
  /// The call that the ring's thread is in; nullopt if the thread is in no call. Also nullopt if
  /// the thread's calls change too quickly to be read; then none of them has lasted a microsecond.
  /// A sampled call that is not timed is not seen.
  std::optional<OpenCall> under_way(std::uint32_t ring) const noexcept;
  /// The regions of a ring's threads. nullopt if they change too quickly to be read.
  std::optional<SegmentRegions> regions(std::uint32_t ring) const;
  /// Ignores all records that are written from now on. Call it when the process has ended or the
  /// run is over.
  void freeze();
  /// True when more than half of the ring waits to be journalled.
  bool is_filling(std::uint32_t ring) const noexcept;
  /// Allocates the memory of the blocks that the process will write next, so that the process's
  /// calls cause fewer page faults. Does nothing before the ring is mapped.
  void look_ahead(std::uint32_t ring);

  // ---- Definitions (capture/core/definitions.h) ----
  /// Number of bytes in the log that wait to be read. After freeze(), definitions that came later
  /// do not count.
  std::size_t waiting_definitions() const noexcept;
  /// Copies the log from the position that advance_definitions() has reached, at most
  /// `max_bytes` and at most waiting_definitions().
  std::vector<std::byte> definitions(std::size_t max_bytes) const;
  /// The process may overwrite the next `bytes` bytes of the log.
  void advance_definitions(std::size_t bytes);
  /// Leaves out everything that is in the log now, because it cannot be read.
  void skip_definitions();
  /// Number of definitions that had no room.
  std::uint64_t dropped_definitions() const noexcept;

  // ---- The agent's part. map() reads the rings' progress, which the process cannot change later.
  // The other values are read from the segment each time. ----
  const RingProgress& progress(std::uint32_t ring) const { return progress_[ring]; }
  /// Raises each number of the ring's progress to the number in `to`, if the number in `to` is
  /// larger. `open_begin_ns` goes with `open_begin`. Then the process may overwrite records that
  /// are in both windows and chunks. Idempotent.
  void advance(std::uint32_t ring, const RingProgress& to);
  std::uint64_t windowed_calls(FunctionId function) const;
  void advance_windowed(FunctionId function, std::uint64_t calls);
  /// Sum of windowed_calls over all functions.
  std::uint64_t windowed_calls() const;
  bool is_finished() const noexcept;
  void set_finished();
  void set_enabled(bool enabled);
  /// Whether the run stores a trace.
  void set_traced(bool traced);
  /// Switches capture off for ever.
  void set_over();
  /// Lets the process's next call change its switch and wake those that wait for it
  /// (call_watch.h). Does nothing while capture is off.
  void let_calls_wake();
  /// Takes let_calls_wake() back.
  void let_calls_be();
  /// The switch of capture in the process; valid during the life of the segment.
  const CaptureSwitch& capture_switch() const;

 private:
  std::uint32_t function_count() const noexcept;
  Segment(Mapping mapping, std::uint32_t max_rings, std::uint32_t ring_records);
  capture::SegmentHeader& header() const;
  capture::ThreadRing& ring_at(std::uint32_t ring) const;
  /// The ring's records, mapped; empty if they cannot be mapped.
  std::span<std::byte> records(std::uint32_t ring) const;
  /// Number of records from `position` on, mapped or not.
  std::uint64_t waiting(std::uint32_t ring, std::uint64_t position) const noexcept;
  void read_progress();
  std::uint64_t definitions_head() const noexcept;

  Mapping mapping_;  // The header and the ThreadRing structures; records are mapped separately.
  mutable std::vector<Mapping> records_;  // Records of each ring; empty until they are first used.
  mutable std::string why_unreadable_;    // Logged when it is first set.
  mutable bool has_failed_ = false;  // Mapping a ring has failed since the last retry_mapping().
  std::vector<std::uint32_t> populated_;  // Number of blocks of each ring that have memory.
  std::uint32_t max_rings_ = 0;
  std::uint32_t ring_records_ = 0;
  std::uint32_t pid_ = 0;
  std::uint64_t start_time_ = 0;
  capture::ClockKind clock_ = capture::ClockKind::kMonotonic;
  std::vector<RingProgress> progress_;            // kMaxThreads elements.
  std::vector<std::uint64_t> ends_;               // Head of each ring at freeze(); empty before.
  std::uint64_t definitions_read_ = 0;            // Position in the log of definitions.
  std::optional<std::uint64_t> definitions_end_;  // Its head at freeze().
};

}  // namespace xylem::backend
