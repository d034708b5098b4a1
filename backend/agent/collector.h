#pragma once

// The core of the agent. The Collector reads records from all rings of a host, and puts packets
// into the journal: registrations, windows and chunks. It does not use the network or timers, and
// starts no processes.
//
// A ring's tail moves only after the journal has committed the records. So a Collector may be
// destroyed at any point. A new Collector with the same journal and segments continues from the
// journal's state.
//
// The Collector decides the order of the work. These classes do the work:
//
//   registration_writer.h   announces each process and its functions
//   silence_watch.h         finds processes that make no calls
//   window_writer.h         makes windows from rings, with the account of each process
//   chunk_writer.h          makes chunks from rings, if the run wants chunks
//   loss_writer.h           makes tombstones for rings that cannot be mapped
//
// These classes read rings with record_reader.h, and write into the journal with packet_writer.h.
// The values of a drain are in drain.h. The values of a process are in watched_process.h.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/agent/call_watch.h"
#include "backend/agent/chunk_writer.h"
#include "backend/agent/drain.h"
#include "backend/agent/loss_writer.h"
#include "backend/agent/packet_writer.h"
#include "backend/agent/record_reader.h"
#include "backend/agent/region_writer.h"
#include "backend/agent/registration_writer.h"
#include "backend/agent/segment.h"
#include "backend/agent/silence.h"
#include "backend/agent/silence_watch.h"
#include "backend/agent/watched_process.h"
#include "backend/agent/window_writer.h"
#include "backend/leaf/journal.h"
#include "backend/leaf/run_clock.h"
#include "backend/leaf/tick_clock.h"
#include "base/clock.h"
#include "base/ids.h"
#include "wire/message.h"
#include "wire/packet.h"
#include "wire/registration.h"

namespace xylem::backend {

struct CollectorOptions {
  RegistrationOptions registrations{};
  /// How long a record waits for its chunk, from the drain that first found it.
  Nanos chunk_age = 100 * kMillisecond;
  /// Approximate maximum number of records that a drain reads (about 20 ms of work), so that
  /// heartbeats continue.
  std::size_t records_per_drain = 200'000;
  /// A window is sealed when it has reached about this size.
  std::size_t window_bytes = 1u << 20;
  /// Pause before the next try to write after the journal was full. An acknowledgement ends the
  /// pause early.
  Nanos full_pause = 200 * kMillisecond;
  /// If there is no address space to map the rings of an ended process, mapping is retried for this
  /// long. Meanwhile other processes may end and free address space. After this time the records
  /// are lost.
  Nanos mapping_patience = 1 * kSecond;
  /// Returns whether a signal has stopped the process. It is called for processes that make no
  /// calls.
  std::function<bool(std::uint32_t pid, std::uint64_t start_time)> is_stopped = backend::is_stopped;
  /// The clock of the `now` arguments. A drain reads this clock at its begin, and again after it
  /// has read records. All these records ended before the second reading. The argument `now` does
  /// not have this property: it may be too early.
  std::function<Nanos()> clock = monotonic_now;
  /// The source of tick pairs.
  std::function<TickPair()> read_pair = read_tick_pair;
};

/// The result of a drain.
struct DrainOutcome {
  /// Share of a ring, 0 to 1, with records that were not read before; the maximum over all rings
  /// and logs of definitions.
  double fill = 0;
  bool unfinished = false;  ///< Records are left: drain again immediately.
  /// No process has made a call for at least Silence::kShortest, and none is in a call that is seen
  /// under way. A window may still have to be sealed.
  bool is_quiet = false;
  /// Time of the next necessary drain, for example because a window must be sealed (monotonic). 0:
  /// no drain is necessary.
  Nanos next_due = 0;
};

/// Order of calls: call add() for each process, also for each process of a predecessor. Call
/// configure() when leaf id and control are known. Then call drain() repeatedly. Not thread-safe.
/// Borrows the journal.
class Collector {
 public:
  Collector(CollectorOptions options, Journal& journal);
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Adds a process that has registered or that a predecessor watched. Applies the journal's
  /// progress to the process's segment. The process may have ended already.
  void add(Lane lane, Segment segment, bool ended, Nanos now);
  /// Reports a process that cannot be watched (row.unwatched) and finishes it.
  void add_unwatched(const wire::ProcessRow& row) { registrations_.add_unwatched(row); }
  /// Notes that the process has ended: it writes no more records.
  void process_ended(Lane lane);

  /// Sets leaf and control. Before the first call of configure(), drain() reads no records.
  /// configure() may be called again; a new window length applies from the next slice of time on.
  void configure(LeafId leaf, const wire::Control& control);
  bool is_configured() const noexcept { return is_configured_; }
  /// Sets the offset between clocks: time of the front end = monotonic time of this host + offset.
  /// Times follow a new offset slowly (backend/leaf/run_clock.h).
  void set_offset(Nanos offset_ns) noexcept { offset_ns_ = offset_ns; }

  /// Reads rings and seals windows and chunks that are due.
  DrainOutcome drain(Nanos now);

  /// Like drain(), but also seals all windows and chunks, whatever their age. At the end, call it
  /// until is_idle() is true.
  DrainOutcome flush(Nanos now);

  /// Switches capture off in all remaining processes. Records that these processes still write are
  /// not read.
  void stop_capture();

  /// Journals the leaf's last window (Packet.last), empty or not. Returns false when the journal is
  /// full.
  bool seal_last(Nanos now);

  /// Call it when the journal may have room again, because an acknowledgement came.
  void resume() noexcept { packets_.resume(); }

  /// Before a sleep of the agent: lets the next call of each process change its switch. Returns the
  /// switches, which stay valid until a process ends or is added.
  std::vector<const CaptureSwitch*> let_calls_wake();
  /// After the sleep.
  void let_calls_be();

  /// Packets journalled since the last call, in order.
  std::vector<PacketKey> take_appended() { return packets_.take_written(); }
  /// The processes whose last accounts were journalled since the last call. The collector has
  /// forgotten these processes.
  std::vector<Lane> take_finished() { return processes_.take_finished(); }

  /// True while a process has registered and its rank is not known yet, because MPI_Init has not
  /// returned. Many records may follow as soon as MPI_Init returns. A process counts for at most
  /// kLongestStart after it registered.
  bool is_anybody_starting(Nanos now) const;
  static constexpr Nanos kLongestStart = 60 * kSecond;

  std::size_t processes() const noexcept { return processes_.size(); }
  /// Number of processes that have not ended.
  std::size_t living() const;
  /// True if MPI_Finalize has returned in all processes that have not ended.
  bool are_all_ending() const;
  /// True when all rings are empty and all records that were read are journalled.
  bool is_idle() const;

 private:
  DrainOutcome work(Nanos now, bool everything);
  bool write_all(Drain& drain);
  void follow_clock(Nanos now);
  Drain begin(Nanos now, bool everything);
  void stop(WatchedProcess& process) const;
  /// Sets the switches of the process to what the run wants.
  void apply_control(Segment& segment) const;
  double fullest_ring(const Drain& drain);
  Nanos next_due(const Drain& drain) const;
  bool is_silent(Nanos now) const;

  CollectorOptions options_;
  Journal& journal_;
  bool is_configured_ = false;
  LeafId leaf_{};
  wire::Control control_;
  Nanos offset_ns_ = 0;
  RunClock clock_;
  std::uint64_t round_ = 0;

  // Each member borrows members above it.
  WatchedProcesses processes_;
  PacketWriter packets_;
  RecordReader records_;
  RegistrationWriter registrations_;
  RegionWriter regions_;
  SilenceWatch silence_;
  WindowWriter windows_;
  ChunkWriter chunks_;
  LossWriter losses_;
};

}  // namespace xylem::backend
