#pragma once

// Reduces one stream's waves at one node: synchronises what the leaves below send, and merges it.
//
// The rules (design section 6), for each wave of a packet: contributions of disjoint sources are
// merged; one that overlaps, does not fit, or comes after its wave was given out goes on by itself.
// Packets marked `alone` and tombstones are passed on as they are: of two packets with the same
// contribution the root takes one, and must be able to tell them apart. Nothing is kept after it
// was given out.

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

/// A wave as far as it is merged here.
struct ReducedWave {
  std::uint64_t number = 0;
  IntervalSet sources;
  wire::Fields state;
};

struct ReducerOptions {
  wire::Synchronisation synchronisation = wire::Synchronisation::kWaitForAll;
  /// From a wave's first packet on, under kTimeOut.
  Nanos time_out = 0;
  /// The same under kWaitForAll: twice the heartbeat limit, after which a silent leaf counts as
  /// lost.
  Nanos longest_wait = 6 * kSecond;
  /// More than this never waits; the oldest waves are given out first.
  std::size_t max_waiting_bytes = 8u << 20;
};

/// Not thread-safe.
class StreamReducer {
 public:
  StreamReducer(std::shared_ptr<const Aggregation> aggregation, ReducerOptions options);

  /// The leaves below now that neither ended nor closed. Waves that waited for others only become
  /// ready.
  void set_expected(const IntervalSet& leaves);

  /// Takes a packet's waves. False when it is to be passed on as it is: a tombstone, a payload that
  /// cannot be read, and, unless this is the root, a packet marked `alone`.
  bool add(const wire::Packet& packet, Nanos now, bool is_root = false);
  /// One wave of it; for the root, which takes of a packet what is new.
  void add(std::uint64_t wave, const IntervalSet& sources, wire::Fields state, Nanos now);

  /// What is to go on, in the order of wave numbers.
  std::vector<ReducedWave> take_ready(Nanos now);
  /// When a wave's time is up; a very late time when none waits.
  Nanos next_deadline() const;
  /// Gives out everything that waits.
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
