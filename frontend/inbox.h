#pragma once

// The root's end of a stream that its own program receives: finds new contributions, reduces them,
// and keeps waves until the program receives them.

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

/// Every contribution of a leaf to a wave is taken exactly once, in whatever packets it arrives:
///   a wave of a packet whose sources are all new    -> taken;
///   all known                                       -> dropped;
///   some known (merged on two ways)                 -> dropped, the new ones requested again.
/// So taken contributions are disjoint, and the reduction counts no leaf twice. A tombstone
/// replaces its waves: later contributions to them are dropped.
///
/// Pure: takes the time and the leaves as arguments. Not thread-safe.
class Inbox {
 public:
  /// `aggregation` may be empty: then waves are delivered without reduction. While more than
  /// `queue_bytes` wait to be received, nothing is acknowledged, so that the leaves stop sending.
  /// While more than twice that wait, nothing is taken either: packets in flight are requested
  /// again later. This bounds the memory for any number of leaves.
  Inbox(wire::StreamSpec spec, std::shared_ptr<const filters::Aggregation> aggregation,
        std::size_t queue_bytes);

  void set_expected(const IntervalSet& leaves) { reducer_.set_expected(leaves); }

  /// All sources must have joined: memory grows with the highest of them.
  void take(wire::Packet packet, Nanos now);
  /// Counts a packet that was not taken because a source has not joined. True for the first one.
  bool refuse() { return ++account_.refused == 1; }
  /// Releases waves that have timed out.
  void on_timer(Nanos now);
  Nanos next_deadline() const { return reducer_.next_deadline(); }

  /// The next wave, if there is one.
  std::optional<Wave> receive();
  bool has_wave() const noexcept { return !queue_.empty(); }
  std::size_t queued_bytes() const noexcept { return queued_bytes_; }

  /// More waits than the limit: nothing is acknowledged.
  bool is_full() const noexcept { return queued_bytes_ > queue_limit_; }
  bool is_overfull() const noexcept { return queued_bytes_ > 2 * queue_limit_; }
  /// take_acknowledgement() has something.
  bool owes_acknowledgement() const {
    return !is_full() &&
           !(waiting_.stored.empty() && waiting_.resend.empty() && not_taken_.empty());
  }
  /// When to send the acknowledgement: at once if it has requests to resend or covers kShare bytes
  /// of a leaf; else within kPause of the first packet, so that a leaf that sends little does not
  /// wake for each packet. A leaf whose journal holds less than kShare may sometimes wait that
  /// long. Nothing if no acknowledgement is owed.
  std::optional<Nanos> acknowledgement_due() const;
  static constexpr Nanos kPause = 2 * kMillisecond;
  static constexpr std::size_t kShare = 64u << 10;
  /// The message to send down now: acknowledgements and requests to resend.
  wire::Acknowledgement take_acknowledgement();

  const StreamAccount& account() const noexcept { return account_; }
  const wire::StreamSpec& spec() const noexcept { return spec_; }

 private:
  enum class Verdict { kNew, kKnown, kMixed };
  /// All of the waves [first, end) are alike, or there is just one.
  Verdict judge(const wire::PacketId& id) const;
  /// Its waves, cut where one of its leaves has or has not what it has of the wave before.
  std::vector<IntervalSet::Interval> runs_alike(const wire::PacketId& id) const;
  /// The waves are alike.
  IntervalSet new_sources(const wire::PacketId& id) const;
  void note(const wire::PacketId& id);
  bool admit(const wire::PacketId& id, std::uint64_t& counter);
  void hand_on(const wire::PacketId& id, wire::Fields state, Nanos now);
  void deliver(std::vector<filters::ReducedWave> waves);

  wire::StreamSpec spec_;
  std::shared_ptr<const filters::Aggregation> aggregation_;
  std::size_t queue_limit_;
  filters::StreamReducer reducer_;
  std::vector<IntervalSet> waves_of_;  // By leaf id: the waves that have come.
  wire::Acknowledgement waiting_;
  // Of the packets that it stands for; those of several leaves count for the first.
  std::map<std::uint64_t, std::size_t> waiting_bytes_;
  std::size_t most_waiting_bytes_ = 0;
  Nanos waiting_since_ = 0;
  IntervalSet not_taken_;  // Leaves with packets that came when there was no room.
  std::deque<Wave> queue_;
  std::size_t queued_bytes_ = 0;
  StreamAccount account_;
};

}  // namespace xylem::frontend
