#pragma once

// The queue of a run's rows before the store. It makes batches, retries after failures, and handles
// a full disk.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/interval_set.h"
#include "base/result.h"
#include "storage/write/recorder.h"
#include "wire/message.h"
#include "wire/packet.h"

namespace xylem::frontend {

struct RowQueueOptions {
  /// Interval between commits. Data is visible and acknowledged after its commit. A commit also
  /// begins as soon as `commit_bytes` wait, and at the end.
  Nanos commit_interval = 200 * kMillisecond;
  std::size_t commit_bytes = 1u << 20;
  /// Maximum size of the rows that wait for a slow store, in bytes. Further packets are dropped
  /// here. Their hosts keep them, and the front end requests them again when there is space. In
  /// addition, the batch that is being stored or has failed may have up to this size.
  std::size_t waiting_bytes = 64u << 20;
  /// While the run is ending and the disk is full, storing is retried for this time, since someone
  /// may free space. The time begins at begin_end(). After this, packets become tombstones.
  Nanos full_limit = 1 * kSecond;
};

/// The owner of a RowQueue. The queue calls these functions while one of its own functions runs, on
/// the thread that called this function. The recorder's thread never calls them.
class RowQueueOwner {
 public:
  virtual ~RowQueueOwner() = default;

  /// The packets in `answer.stored` are stored, or replaced by tombstones. The packets in
  /// `answer.resend` must be sent again. `ended` has the leaves whose last packet is in
  /// `answer.stored`.
  virtual void on_settled(const wire::Acknowledgement& answer, const IntervalSet& ended) = 0;
  /// Another front end has taken over the run. The queue stores nothing any more.
  virtual void on_superseded(const Error& why) = 0;
  /// The last batch is stored, or has finally failed. Called once, after end().
  virtual void on_end_recorded(storage::Recorded done) = 0;
};

/// Collects rows, gives them to the recorder in batches, and reports the outcome to the owner.
///
/// Order of calls: first start(), then any number of rows. Call begin_end() when the run is ending,
/// drain() when the tree was told to send its remaining data, and end() after the last row. While
/// rows wait, the owner calls on_timer() at next_write() or soon after, and on_recorded() when the
/// recorder's descriptor is readable.
///
/// If the store fails, the queue keeps the batch and tries it again after a second. After drain()
/// it tries again after 200 ms. Each new reason is logged once. If the queue is full, it takes no
/// packets; see RowQueueOptions::waiting_bytes.
///
/// If the disk is full after drain(), and `full_limit` has passed since begin_end(), packets become
/// tombstones. Only packets that must not be given up (wire::may_be_given_up) stay unchanged. All
/// these packets count as settled immediately and are stored with the run's end.
///
/// Not thread-safe. The recorder and the owner are borrowed.
class RowQueue {
 public:
  RowQueue(const RowQueueOptions& options, storage::Recorder& recorder, RowQueueOwner& owner)
      : options_(options), recorder_(recorder), owner_(owner) {}

  /// `epoch` is the time 0 of the run.
  void start(Nanos epoch, Nanos now);

  /// Adds a row that is not a packet. Rows about links, clocks, host facts and notices are dropped
  /// if the queue is full or gives up packets.
  void add(storage::Row row);
  /// Adds a packet. If the queue is full, drops the packet, and requests it again when there is
  /// space.
  void add_packet(wire::Packet packet, Nanos now);

  /// Begins a commit if one is due.
  void on_timer(Nanos now);
  /// Takes the result of a commit from the recorder, if there is one.
  void on_recorded(Nanos now);

  /// Tells the queue that the run is ending: `full_limit` begins.
  void begin_end(Nanos now);
  /// Tells the queue that the tree sends its remaining data. From now on, rows are stored as soon
  /// as the store is free.
  void drain(Nanos now);
  /// If the disk is still full after `full_limit`, turns the waiting packets and all later packets
  /// into tombstones. Does nothing before drain().
  void give_up_if_full(Nanos now);
  /// Stores all waiting rows and the run's end, as soon as the batch in progress is done. A row
  /// that is added after end() is stored only if it is added before that batch is done.
  void end(int exit_code, Nanos now);

  /// The time at which on_timer() has something to do; kForever if it has nothing to do now.
  Nanos next_write() const;
  /// How long the store has worked on the current batch; 0 if there is no current batch.
  Nanos writing_for(Nanos now) const { return recording_ ? now - recording_since_ : 0; }
  /// The last time at which packets were stored or first became tombstones; 0 if neither happened.
  /// Later tombstones do not count, but the last packet of a leaf does.
  Nanos last_progress() const { return last_progress_; }
  /// Reports on the writes to the store, in the form of a report on a link. `queue_bytes` is the
  /// size of the waiting rows and of the batch that is being stored. `sent_packets` and
  /// `sent_bytes` count the packets and bytes that were stored. `round_trip_ns` is the longest
  /// commit since the last report.
  wire::LinkReport take_report(Nanos now);

 private:
  void push(storage::Row row);
  void record(Nanos now);
  void record_if_large(Nanos now);
  void record_end(Nanos now);
  storage::Batch take_unstored();
  void take_recorded(Nanos now);
  void acknowledge(storage::Recorded done, Nanos now);
  void note_failure(storage::Recorded done, Nanos now);
  void ask_for_refused(wire::Acknowledgement& answer);
  void give_up(wire::Packet packet, wire::Acknowledgement& answer, IntervalSet& ended);
  bool is_closed() const { return exit_code_ || is_superseded_; }

  RowQueueOptions options_;
  storage::Recorder& recorder_;
  RowQueueOwner& owner_;
  Nanos epoch_ = 0;

  storage::Batch waiting_;         // The rows of the next commit.
  std::size_t waiting_bytes_ = 0;  // Size of `waiting_`.
  storage::Batch failed_;          // Rows of a failed commit, to be tried before `waiting_`.
  // Leaves whose packets were dropped. They are asked to send these packets again when there is
  // space.
  IntervalSet refused_;
  Nanos next_commit_ = 0;
  Nanos last_progress_ = 0;

  bool recording_ = false;  // The store works on a batch.
  std::size_t recording_bytes_ = 0;
  Nanos recording_since_ = 0;
  Nanos longest_commit_ns_ = 0;  // Since the last report.
  std::uint64_t stored_packets_ = 0;
  std::uint64_t stored_bytes_ = 0;

  bool told_slow_ = false;
  std::string trouble_;    // The last failure of the store that was logged.
  bool is_full_ = false;   // The last commit failed because the disk was full.
  bool gives_up_ = false;  // Packets are no longer stored: tombstones count them as lost.
  bool is_superseded_ = false;

  Nanos ending_since_ = 0;
  bool is_draining_ = false;
  std::optional<int> exit_code_;  // Set by end().
  bool end_is_recorded_ = false;  // The batch on which the store works is the last one.
};

}  // namespace xylem::frontend
