#pragma once

// Reduces the waves of one stream at one node: waits for the contributions of the leaves below and
// merges them.
//
// The rules for each wave of a packet: contributions of disjoint sources are merged. A contribution
// is forwarded by itself if it overlaps, does not match, or arrives after its wave was released.
// Packets marked `alone` and tombstones are forwarded unchanged: the root keeps one of two packets
// with the same contribution, so it must be able to tell them apart. Nothing is kept after its
// release.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/interval_set.h"
#include "filters/aggregation.h"
#include "wire/fields.h"
#include "wire/packet.h"
#include "wire/stream.h"

namespace xylem::filters {

/// A wave and the contributions that were merged here.
struct ReducedWave {
  std::uint64_t number = 0;
  IntervalSet sources;
  wire::Fields state;
};

struct ReducerOptions {
  wire::Synchronisation synchronisation = wire::Synchronisation::kWaitForAll;
  /// For kTimeOut: maximum wait after a wave's first packet.
  Nanos time_out = 0;
  /// For kWaitForAll: maximum wait after a wave's first packet. Twice the time after which a silent
  /// leaf counts as lost (kSilenceLimit).
  Nanos longest_wait = 6 * kSecond;
  /// Maximum size of waiting waves. If more waves wait, the oldest are released first.
  std::size_t max_waiting_bytes = 8u << 20;
};

/// Not thread-safe.
class StreamReducer {
 public:
  StreamReducer(std::shared_ptr<const Aggregation> aggregation, ReducerOptions options);

  /// Sets the leaves below that have neither ended nor closed the stream. Waves that waited only
  /// for other leaves become ready.
  void set_expected(const IntervalSet& leaves);

  /// Adds the waves of a packet. Returns false if the caller must forward the packet unchanged: a
  /// tombstone, a payload that cannot be read, and, unless this is the root, a packet marked
  /// `alone`.
  bool add(const wire::Packet& packet, Nanos now, bool is_root = false);
  /// Adds one wave of a packet. For the root, which adds only waves that are new.
  void add(std::uint64_t wave, const IntervalSet& sources, wire::Fields state, Nanos now);

  /// Returns the waves to forward, in the order of their numbers.
  std::vector<ReducedWave> take_ready(Nanos now);
  /// The next time at which a wave times out; a very late time if no wave waits.
  Nanos next_deadline() const;
  /// Returns everything that waits.
  std::vector<ReducedWave> flush();

  std::size_t waiting_bytes() const noexcept { return waiting_bytes_; }

 private:
  struct Open {
    Nanos deadline = 0;
    IntervalSet sources;
    wire::Fields state;
    std::size_t bytes = 0;
  };
  Nanos patience() const;
  void give_out(std::map<std::uint64_t, Open>::iterator wave);

  std::shared_ptr<const Aggregation> aggregation_;
  ReducerOptions options_;
  IntervalSet expected_;
  std::map<std::uint64_t, Open> open_;
  // May contain waves that were already released.
  std::deque<std::pair<Nanos, std::uint64_t>> deadlines_;
  IntervalSet given_out_;
  std::vector<ReducedWave> ready_;
  std::size_t waiting_bytes_ = 0;
};

/// Returns the waves as packets. Consecutive waves with equal sources share a packet, up to
/// `max_bytes` and `max_waves` in each packet.
std::vector<wire::Packet> pack(StreamId stream, std::vector<ReducedWave> waves,
                               std::size_t max_waves = 256, std::size_t max_bytes = 256u << 10);

}  // namespace xylem::filters
