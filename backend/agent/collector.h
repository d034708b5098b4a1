#pragma once

// Takes records out of all rings of a host and puts packets into the journal: registrations,
// windows, chunks. The core of the agent, without network, timers or processes.
//
// First the journal commits, then the ring's tail moves. So a Collector may be destroyed at any
// point: a new one with the same journal and segments continues from the journal's state.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/agent/segment.h"
#include "backend/agent/silence.h"
#include "backend/leaf/journal.h"
#include "backend/leaf/tick_clock.h"
#include "backend/leaf/window_builder.h"
#include "base/clock.h"
#include "base/ids.h"
#include "wire/chunk.h"
#include "wire/message.h"
#include "wire/packet.h"
#include "wire/profile.h"
#include "wire/registration.h"

namespace xylem::backend {

struct CollectorOptions {
  std::string host;  ///< Displayed name, sent with every registration.
  /// Maximum age of a record before it goes into a chunk.
  Nanos chunk_age = 100 * kMillisecond;
  /// Maximum number of records in one drain (about 20 ms), so that heartbeats continue.
  std::size_t records_per_drain = 200'000;
  /// A window is sealed before it exceeds this size.
  std::size_t window_bytes = 1u << 20;
  /// Pause before the next try after the journal was full; an acknowledgement ends it early.
  Nanos full_pause = 200 * kMillisecond;
  /// How long to retry mapping the rings of an ended process for which there was no address space:
  /// other processes that end may free some. After that their records are lost.
  Nanos mapping_patience = 1 * kSecond;
  /// Whether a signal has stopped the process. Called for processes that make no calls.
  std::function<bool(std::uint32_t pid, std::uint64_t start_time)> is_stopped = backend::is_stopped;
  /// The clock of `now`. Read when a drain begins and after it has read records, as an upper bound
  /// of their end; the argument `now` may be old by then.
  std::function<Nanos()> clock = monotonic_now;
  /// The source of tick pairs.
  std::function<TickPair()> read_pair = read_tick_pair;
};

/// The result of a drain.
struct DrainOutcome {
  /// The largest share of a ring filled since the last drain, 0 to 1.
  double fill = 0;
  bool unfinished = false;  ///< Records are left: drain again at once.
  Nanos next_due = 0;       ///< When something must be sealed (monotonic); 0: nothing waits.
};

/// Order of calls: add() for each process, those of a predecessor included; configure() when leaf
/// id and control are known; then drain() repeatedly. One thread. Borrows the journal.
class Collector {
 public:
  Collector(CollectorOptions options, Journal& journal);

  /// Adds a process that registered or that a predecessor had. Applies the journal's progress to
  /// its segment. The process may have ended already.
  void add(Lane lane, Segment segment, bool ended, Nanos now);
  /// Reports a process that cannot be watched (row.unwatched) and finishes it.
  void add_unwatched(const wire::ProcessRow& row);
  /// The process has ended: no more records follow those in its rings.
  void process_ended(Lane lane);

  /// Must precede all encoding. May be called again; a new window length applies from the next
  /// slice on.
  void configure(LeafId leaf, const wire::Control& control);
  bool is_configured() const noexcept { return builder_.has_value(); }
  /// This host's monotonic clock + offset = the front end's.
  void set_offset(Nanos offset_ns) noexcept { offset_ns_ = offset_ns; }

  /// Reads rings and seals windows and chunks that are due.
  DrainOutcome drain(Nanos now);

  /// As drain, and seals everything, whatever its age. For the end; call it until `unfinished` is
  /// false.
  DrainOutcome flush(Nanos now);

  /// Switches capture off in all remaining processes; later records are not read.
  void stop_capture();

  /// Journals the leaf's last window (Packet.last), empty or not. False when the journal is full.
  bool seal_last(Nanos now);

  /// The journal may have room again: an acknowledgement came.
  void resume() noexcept { retry_at_ = 0; }

  /// Packets journalled since the last call, in order.
  std::vector<PacketKey> take_appended();
  /// Processes whose last account was journalled since the last call. The collector has forgotten
  /// them.
  std::vector<Lane> take_finished();

  /// True while a process has not returned from MPI_Init, since many records may follow at once. At
  /// most kLongestStart after the process registered.
  bool is_anybody_starting(Nanos now) const;
  static constexpr Nanos kLongestStart = 60 * kSecond;

  std::size_t processes() const noexcept { return processes_.size(); }
  /// Processes that have not ended.
  std::size_t living() const;
  /// True when all rings are empty and all that was read is journalled.
  bool is_idle() const;

 private:
  struct RingCursor {
    std::uint64_t position = 0;  // Read into the open window.
    // An unfinished group of completions: where, how many records, met in which drain.
    std::uint64_t held_position = 0;
    std::uint64_t held_count = 0;
    std::uint64_t held_round = 0;
  };
  struct Process {
    Process(Lane number, Segment mapped, Nanos now)
        : lane(number), segment(std::move(mapped)), added_at(now), silence(now) {}
    Lane lane;
    Segment segment;
    std::vector<RingCursor> cursors{capture::kMaxThreads};
    bool ended = false;
    bool final_counted = false;  // Its pending calls are in the open window: the last one.
    bool announced = false;
    bool announced_world = false;
    bool announced_functions = false;
    std::uint64_t windowed = 0;  // Calls in journalled windows.
    Nanos added_at;
    Nanos chunk_since = 0;       // Since when records wait for a chunk; 0: none does.
    Nanos unreadable_since = 0;  // Nothing but rings that are not mapped is left; 0: something is.
    Silence silence;
    bool tells_silence = false;  // With the next window.
    wire::AccountRow told;
  };

  DrainOutcome work(Nanos now, bool everything);
  void read_clock(Nanos now);
  bool is_readable(const Process& process) const;
  static bool is_filling(const Process& process);
  bool announce();
  bool announce(Process& process);
  bool append_registration(const wire::Registration& registration);

  void watch_silence();
  void describe_silence(const Process& process, wire::AccountRow& row) const;

  // Windows.
  bool drain_windows();
  bool open_next_slice();
  void open_slice(std::uint64_t slice);
  bool is_worth_sealing() const;
  bool read_rings();
  bool read_ring(Process& process, std::uint32_t ring);
  double fullest_ring() const;
  bool is_any_filling() const;
  bool is_read(const Process& process) const;
  void count_ended();
  // Calls that are in no window and not lost.
  std::uint64_t pending_calls(const Process& process, FunctionId function) const;

  // Records of rings that cannot be mapped.
  bool has_unreadable(const Process& process) const;
  bool give_up_unreadable();
  bool give_up_calls(Process& process);
  bool give_up_events(Process& process);
  static std::string why_given_up(const Process& process);
  // Of the next window: of that slice, or of the first wave after it that is free.
  wire::PacketId window_id(std::uint64_t slice) const;
  // Of the process's next chunk; where it ends is left open.
  wire::PacketId chunk_id(const Process& process) const;
  bool seal(bool last);
  void fill_accounts(wire::ProfileWindow& window, Progress& progress);
  wire::AccountRow account_of(const Process& process) const;
  void apply(const Progress& progress);
  Nanos next_due() const;

  // Chunks.
  bool drain_chunks();
  std::uint64_t chunk_pending(const Process& process) const;
  bool make_chunk(Process& process);

  bool append(const Draft& draft);
  std::size_t read(const Process& process, std::uint32_t ring, std::uint64_t position,
                   std::span<capture::Record> out);
  // Times of a process's records as they stand while a batch of them is taken.
  struct RunTimes {
    TickReader ticks;
    Nanos shift;
    Nanos latest;
    /// Begin and end on the run's clock; 0 <= begin <= end <= latest.
    std::pair<Nanos, Nanos> of(const capture::Record& record);
  };
  RunTimes times_of(const Process& process) const;
  void spend(std::size_t records);
  Nanos run_shift() const;
  Nanos run_time(Nanos monotonic) const;

  CollectorOptions options_;
  Journal& journal_;
  TickClock clock_;
  std::map<Lane, std::unique_ptr<Process>> processes_;
  std::vector<wire::ProcessRow> unwatched_;  // Not told of yet.
  std::set<std::uint64_t> tables_;           // Hashes of the function tables told.
  std::optional<WindowBuilder> builder_;
  wire::ChunkEncoder encoder_;
  LeafId leaf_{};
  wire::Control control_;
  Nanos offset_ns_ = 0;
  Nanos run_now_ = 0;  // Of the drain under way, when it began.
  Nanos read_at_ = 0;  // Of the drain under way, when it last read records; run time.
  Nanos now_ = 0;
  std::size_t budget_ = 0;
  double fill_ = 0;
  bool everything_ = false;
  std::uint64_t round_ = 0;
  Nanos retry_at_ = 0;  // The journal was full: nothing is read before.
  bool told_full_ = false;
  std::vector<capture::Record> batch_;
  std::vector<TimedRecord> timed_;
  std::vector<wire::Event> events_;
  std::vector<PacketKey> appended_;
  std::vector<Lane> finished_;
};

}  // namespace xylem::backend
