#pragma once

// Reduces one stream's waves at one node: synchronises the contributions of the leaves below and
// merges them.
//
// The rules (design section 6), for each wave of a packet: contributions of disjoint sources are
// merged. A contribution that overlaps, does not match, or arrives after its wave was released goes
// on by itself. Packets marked `alone` and tombstones are passed on unchanged: the root takes one
// of two packets with the same contribution, so it must be able to tell them apart. Nothing is kept
// after its release.

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

/// A wave with the contributions merged here.
struct ReducedWave {
  std::uint64_t number = 0;
  IntervalSet sources;
  wire::Fields state;
};

struct ReducerOptions {
  wire::Synchronisation synchronisation = wire::Synchronisation::kWaitForAll;
  /// For kTimeOut: maximum wait after a wave's first packet.
  Nanos time_out = 0;
  /// The same for kWaitForAll: twice the heartbeat limit, after which a silent leaf counts as lost.
  Nanos longest_wait = 6 * kSecond;
  /// Maximum size of waiting waves; beyond it the oldest are released first.
  std::size_t max_waiting_bytes = 8u << 20;
};

/// Not thread-safe.
class StreamReducer {
 public:
  StreamReducer(std::shared_ptr<const Aggregation> aggregation, ReducerOptions options);

  /// Sets the leaves below that have neither ended nor closed the stream. Waves that waited only
  /// for other leaves become ready.
  void set_expected(const IntervalSet& leaves);

  /// Takes a packet's waves. False when the caller must pass it on unchanged: a tombstone, a
  /// payload that cannot be read, and, unless this is the root, a packet marked `alone`.
  bool add(const wire::Packet& packet, Nanos now, bool is_root = false);
  /// Takes one wave of a packet; for the root, which takes only the new ones.
  void add(std::uint64_t wave, const IntervalSet& sources, wire::Fields state, Nanos now);

  /// The waves to pass on, in the order of their numbers.
  std::vector<ReducedWave> take_ready(Nanos now);
  /// The next time at which a wave times out; a very late time if none waits.
  Nanos next_deadline() const;
  /// Releases everything that waits.
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
  std::deque<std::pair<Nanos, std::uint64_t>> deadlines_;  // May name waves that are given out.
  IntervalSet given_out_;
  std::vector<ReducedWave> ready_;
  std::size_t waiting_bytes_ = 0;
};

/// The same waves as packets: neighbours with equal sources share one, up to `max_bytes` and
/// `max_waves` each.
std::vector<wire::Packet> pack(StreamId stream, std::vector<ReducedWave> waves,
                               std::size_t max_waves = 256, std::size_t max_bytes = 256u << 10);

}  // namespace xylem::filters
