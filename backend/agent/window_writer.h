#pragma once

// Reads rings into the open window (backend/leaf/window_builder.h) and journals windows that are
// due.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/agent/drain.h"
#include "backend/agent/packet_writer.h"
#include "backend/agent/record_reader.h"
#include "backend/agent/silence_watch.h"
#include "backend/agent/watched_process.h"
#include "backend/leaf/timed_record.h"
#include "backend/leaf/window_builder.h"
#include "base/clock.h"
#include "base/ids.h"
#include "wire/packet.h"
#include "wire/profile.h"

namespace xylem::backend {

/// Call start() first. In each drain of the Collector, call drain() and then count_ended(). After
/// count_ended(), another drain() may be necessary. A window is journalled when its slice of time
/// is over, when it grows too large, or when a ring fills. Then the rings' tails move, but with a
/// trace not past the records in chunks. Not thread-safe. Borrows its arguments.
///
/// When a slice is over, its last window also gets the time of the calls that are under way at the
/// slice's end. For each thread this is the call of its next record, if it began before the slice's
/// end. Without such a record, it is the call that the thread has published. The published calls
/// are read after the slice's end and before the records. There is one short moment in which a call
/// is missed: when it is no longer published and its record is not yet written. Its time then comes
/// later, as an earlier row. No call counts twice.
class WindowWriter {
 public:
  /// A window is sealed when it has reached about `window_bytes`. A single call that nobody has
  /// counted for an hour may add another 700 KiB.
  WindowWriter(PacketWriter& packets, const RecordReader& records, SilenceWatch& silence,
               WatchedProcesses& processes, std::size_t window_bytes);

  /// Sets the leaf's id, and drops the open window. Call it again only if the id has changed.
  void start(LeafId leaf);

  /// Call it when the run's clock has stepped back and continues from `run_time`. The step loses
  /// the time of calls under way, because they end before they begin. No other time is lost.
  void step_back(Nanos run_time) { builder_.step_back(run_time); }

  /// Reads the records of slices up to the present one, within the drain's budget, and journals due
  /// windows. Returns false when the journal is full.
  bool drain(Drain& drain);
  /// Counts the calls of ended processes that will never have a record. These are inner calls, the
  /// last calls of a sampled function, or the call in which the process died. The account in the
  /// next window is the process's last account. Returns false when the window is full: call drain()
  /// and then count_ended() again. Processes whose last slices are not read yet come in a later
  /// drain.
  bool count_ended(Drain& drain);
  /// Journals the leaf's last window (Packet.last), empty or not. Returns false when the journal is
  /// full.
  bool seal_last(const Drain& drain);

  /// True if the open window has rows, or accounts that must be reported.
  bool is_worth_sealing() const;
  /// When the open window ends (monotonic); 0: no window waits to be sealed.
  Nanos next_due(const Drain& drain) const;
  /// True if the last drain saw a call under way that must be counted in a later window.
  bool has_open_calls() const noexcept { return has_open_calls_; }

  /// The id of the next window. It has the first free wave number of the open slice. If no slice is
  /// open, it has the first free number of the present slice.
  wire::PacketId next_id(const Drain& drain) const;
  /// Number of the function's calls that are in no window and not lost.
  std::uint64_t pending_calls(const WatchedProcess& process, FunctionId function) const;

 private:
  bool open_next_slice(Drain& drain);
  void open_slice(std::uint64_t slice, const Drain& drain);
  void look(Drain& drain);
  struct OpenUntil {
    WindowBuilder::Open call;
    Nanos until = 0;
    std::uint64_t begin_ticks = 0;
  };
  void note_open(const WatchedProcess& process, std::uint32_t ring, const OpenUntil& open);
  bool charge_open_calls(Drain& drain);
  bool count_last_calls(WatchedProcess& process, Drain& drain);
  std::optional<OpenUntil> next_recorded(WatchedProcess& process, std::uint32_t ring, Drain& drain);
  std::optional<OpenUntil> published(const WatchedProcess& process, std::uint32_t ring,
                                     Drain& drain) const;
  void introduce(WatchedProcess& process, std::uint32_t ring, const Drain& drain);
  void note_begin(WatchedProcess& process, Nanos begin_ns, const Drain& drain) const;
  bool read_rings(Drain& drain);
  bool read_ring(WatchedProcess& process, std::uint32_t ring, Drain& drain);
  std::span<const TimedRecord> read_batch(const WatchedProcess& process, std::uint32_t ring,
                                          std::size_t room, Drain& drain);
  bool is_any_filling() const;
  wire::PacketId id_in(std::uint64_t slice, LeafId leaf) const;
  bool seal(bool last, const Drain& drain);
  void fill_accounts(wire::ProfileWindow& window, Progress& progress, const Drain& drain) const;
  wire::AccountRow account_of(const WatchedProcess& process, const Drain& drain) const;

  PacketWriter& packets_;
  const RecordReader& records_;
  SilenceWatch& silence_;
  WatchedProcesses& processes_;
  std::size_t window_bytes_;
  WindowBuilder builder_;
  std::vector<capture::Record> batch_;
  std::vector<TimedRecord> timed_;
  // Completions of a call in the open slice are in a ring, and more of them may follow. The next
  // drain takes them.
  bool holds_back_ = false;
  // True if, at the last look, a call was under way and its time from `open_since_` on was not
  // counted.
  bool has_open_calls_ = false;
  Nanos open_since_ = 0;
};

}  // namespace xylem::backend
