#pragma once

// The root's end of a stream that its own program receives: decides what is new, reduces it, keeps
// it until it is asked for.

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
///   some known (merged on two ways)                 -> dropped, those that are new asked again.
/// So what is taken is disjoint, and the reduction counts nobody twice. A tombstone takes the place
/// of the waves that it stands for: what comes of them later is dropped.
///
/// Pure: told the time and the leaves. Not thread-safe.
class Inbox {
 public:
  /// `aggregation` may be empty: then each packet's waves come as they are. While more than
  /// `queue_bytes` wait to be received, nothing is acknowledged, so that the leaves stop sending;
  /// while more than twice that, nothing is taken either: what was on its way comes again when it
  /// is asked for. That bounds the memory, whatever the number of leaves.
  Inbox(wire::StreamSpec spec, std::shared_ptr<const filters::Aggregation> aggregation,
        std::size_t queue_bytes);

  void set_expected(const IntervalSet& leaves) { reducer_.set_expected(leaves); }

  /// All its sources have joined: what is kept grows with the highest of them.
  void take(wire::Packet packet, Nanos now);
  /// Counts a packet that was not taken, since not all its sources have joined. True: the first.
  bool refuse() { return ++account_.refused == 1; }
  /// Gives out waves whose time is up.
  void on_timer(Nanos now);
  Nanos next_deadline() const { return reducer_.next_deadline(); }

  /// The next wave, when there is one.
  std::optional<Wave> receive();
  bool has_wave() const noexcept { return !queue_.empty(); }
  std::size_t queued_bytes() const noexcept { return queued_bytes_; }

  /// More waits than the bound: nothing is acknowledged.
  bool is_full() const noexcept { return queued_bytes_ > queue_limit_; }
  bool is_overfull() const noexcept { return queued_bytes_ > 2 * queue_limit_; }
  /// take_acknowledgement() has something.
  bool owes_acknowledgement() const {
    return !is_full() &&
           !(waiting_.stored.empty() && waiting_.resend.empty() && not_taken_.empty());
  }
  /// When it should go: at once with what is asked again, or when it stands for kShare of a leaf;
  /// else within kPause of the first, so that a leaf which sends little is not woken for each of
  /// its packets. A leaf whose journal holds less than kShare waits that long now and then. Nothing
  /// when nothing is owed.
  std::optional<Nanos> acknowledgement_due() const;
  static constexpr Nanos kPause = 2 * kMillisecond;
  static constexpr std::size_t kShare = 64u << 10;
  /// What is to go down now: acknowledgements, and what is asked again.
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
  IntervalSet not_taken_;  // Leaves of which something came when there was no room for it.
  std::deque<Wave> queue_;
  std::size_t queued_bytes_ = 0;
  StreamAccount account_;
};

}  // namespace xylem::frontend
