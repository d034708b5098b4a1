#pragma once

// The receiving end of a tool's stream, at the root. It accepts new contributions, reduces them to
// waves, and keeps the waves until the program receives them.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "base/result.h"
#include "filters/aggregation.h"
#include "filters/stream_reducer.h"
#include "frontend/wave.h"
#include "wire/fields.h"
#include "wire/message.h"
#include "wire/stream.h"

namespace xylem::frontend {

/// Accepts every contribution of a leaf to a wave exactly once, even if several packets contain it.
/// The sources of a packet are the leaves whose contributions are merged in it. For each wave of a
/// packet, there are three cases:
///   all sources are new         -> the wave is accepted;
///   all sources are known       -> the wave is dropped;
///   only some are known         -> the wave is dropped, and the new contributions are requested.
/// So no contribution is counted twice. A tombstone also counts as a contribution: a later packet
/// with the same waves and sources is dropped.
///
/// Pure: takes the time and the leaves as arguments. Not thread-safe.
class Inbox {
 public:
  /// If `aggregation` is null, waves are delivered without reduction. While more than `queue_bytes`
  /// wait for the program, nothing is acknowledged, so the leaves stop sending. While more than
  /// twice this amount waits, new packets are dropped and requested again later. This bounds the
  /// queue for any number of leaves.
  Inbox(wire::StreamSpec spec, std::shared_ptr<const filters::Aggregation> aggregation,
        std::size_t queue_bytes);

  void set_expected(const IntervalSet& leaves) { reducer_.set_expected(leaves); }

  /// Handles a packet. All sources must have joined, because the memory grows with the highest leaf
  /// id.
  void take(wire::Packet packet, Nanos now);
  /// Counts a packet that the caller has dropped because a source has not joined. Returns true for
  /// the first such packet.
  bool refuse() { return ++account_.refused == 1; }
  /// Releases waves that have timed out.
  void on_timer(Nanos now);
  Nanos next_deadline() const { return reducer_.next_deadline(); }

  /// Removes and returns the next wave; nullopt if no wave is complete.
  std::optional<Wave> receive();
  bool has_wave() const noexcept { return !queue_.empty(); }
  std::size_t queued_bytes() const noexcept { return queued_bytes_; }

  /// True while more than `queue_bytes` wait for the program. Nothing is acknowledged then.
  bool is_full() const noexcept { return queued_bytes_ > queue_limit_; }
  bool is_overfull() const noexcept { return queued_bytes_ > 2 * queue_limit_; }
  /// True if there are packets to acknowledge or to request again, and is_full() is false.
  bool owes_acknowledgement() const {
    return !is_full() &&
           !(waiting_.stored.empty() && waiting_.resend.empty() && not_taken_.empty());
  }
  /// Returns the time at which to send the acknowledgement; nullopt if there is nothing to
  /// acknowledge. The acknowledgement is due immediately if it requests packets again, or if it
  /// covers kShare bytes of one leaf. Otherwise it is due kPause after its first packet. So a leaf
  /// does not wake up for each small packet. But a leaf whose journal is smaller than kShare may
  /// have to wait for kPause.
  std::optional<Nanos> acknowledgement_due() const;
  static constexpr Nanos kPause = 2 * kMillisecond;
  static constexpr std::size_t kShare = 64u << 10;
  /// Removes and returns the message to send to the leaves now: acknowledgements and requests to
  /// resend.
  wire::Acknowledgement take_acknowledgement();

  const StreamAccount& account() const noexcept { return account_; }
  const wire::StreamSpec& spec() const noexcept { return spec_; }

 private:
  enum class Verdict { kNew, kKnown, kMixed };
  /// Returns kNew if all contributions of the packet are new, kKnown if all are known, else kMixed.
  Verdict judge(const wire::PacketId& id) const;
  /// Splits the packet's waves into runs. Within a run, each leaf's contributions are either all
  /// known or all new.
  std::vector<IntervalSet::Interval> runs_alike(const wire::PacketId& id) const;
  /// Returns the sources whose contributions are new. The packet must have only one wave, or be one
  /// run of runs_alike().
  IntervalSet new_sources(const wire::PacketId& id) const;
  void note(const wire::PacketId& id);
  bool admit(const wire::PacketId& id, std::uint64_t& counter);
  void hand_on(const wire::PacketId& id, wire::Fields state, Nanos now);
  void deliver(std::vector<filters::ReducedWave> waves);

  wire::StreamSpec spec_;
  std::shared_ptr<const filters::Aggregation> aggregation_;  // Shared with `reducer_`.
  std::size_t queue_limit_;
  filters::StreamReducer reducer_;
  std::vector<IntervalSet> waves_of_;  // Known waves of each leaf, indexed by leaf id.
  wire::Acknowledgement waiting_;      // The next acknowledgement, not sent yet.
  // For each leaf, the bytes of its packets in `waiting_`. A packet of several leaves counts for
  // its first leaf.
  std::map<std::uint64_t, std::size_t> waiting_bytes_;
  std::size_t max_waiting_bytes_ = 0;  // The largest value in `waiting_bytes_`.
  Nanos waiting_since_ = 0;
  IntervalSet not_taken_;  // Leaves whose packets were dropped because the queue was full.
  std::deque<Wave> queue_;
  std::size_t queued_bytes_ = 0;
  StreamAccount account_;
};

}  // namespace xylem::frontend
