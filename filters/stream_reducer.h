#pragma once

// Reduces the waves of one stream at one node: waits for the contributions of the leaves below and
// merges them.
//
// Contributions to the same wave are merged if their sources are disjoint. A contribution is
// forwarded separately in three cases: its sources overlap those of the wave, it cannot be merged,
// or the wave was already released.
//
// Packets marked `alone` and tombstones are forwarded unchanged. Two of these packets may have the
// same contribution, and the root must recognise this, because it keeps only one of them. After a
// wave is released, its contributions are no longer kept.

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

/// A wave, with the contributions that this node has merged.
struct ReducedWave {
  std::uint64_t number = 0;
  IntervalSet sources;
  wire::Fields state;
};

struct ReducerOptions {
  wire::Synchronisation synchronisation = wire::Synchronisation::kWaitForAll;
  /// For kTimeOut: maximum wait after a wave's first packet.
  Nanos time_out = 0;
  /// For kWaitForAll: maximum wait after a wave's first packet. It is twice the time after which a
  /// silent peer is lost (kSilenceLimit).
  Nanos longest_wait = 6 * kSecond;
  /// Maximum size of waiting waves in bytes. If more bytes wait, the oldest waves are released
  /// first.
  std::size_t max_waiting_bytes = 8u << 20;
};

/// Not thread-safe.
class StreamReducer {
 public:
  StreamReducer(std::shared_ptr<const Aggregation> aggregation, ReducerOptions options);

  /// Sets the leaves for which a wave waits: the leaves below this node that have neither ended nor
  /// closed the stream. Waves that have a contribution of each of these leaves become ready.
  void set_expected(const IntervalSet& leaves);

  /// Adds the waves of a packet. A contribution that cannot be merged with what waits, or with
  /// which the wave would not fit into a frame, becomes ready by itself. Returns false if the
  /// caller must forward the packet unchanged: it is a tombstone, or its payload cannot be decoded,
  /// or it is marked `alone`. With `is_root`, packets marked `alone` are added too.
  bool add(const wire::Packet& packet, Nanos now, bool is_root = false);
  /// Adds one wave of a packet. The root calls this function, because it adds only waves that it
  /// does not have yet.
  void add(std::uint64_t wave, const IntervalSet& sources, wire::Fields state, Nanos now);

  /// Returns the waves to forward, in the order of their numbers.
  std::vector<ReducedWave> take_ready(Nanos now);
  /// Returns the next time at which a wave times out; a very late time if no wave waits.
  Nanos next_deadline() const;
  /// Returns all waiting waves.
  std::vector<ReducedWave> flush();

  std::size_t waiting_bytes() const noexcept { return waiting_bytes_; }

 private:
  struct Open {
    Nanos deadline = 0;
    IntervalSet sources;
    // Sources whose contributions were passed on by themselves, because they could not be merged.
    IntervalSet separate;
    wire::Fields state;
    std::size_t bytes = 0;
  };
  Nanos patience() const;
  enum class Merged { kYes, kNotMergeable, kTooLarge };
  // Without kYes, `open` is unchanged.
  Merged merge(Open& open, const IntervalSet& sources, const wire::Fields& state) const;
  bool is_complete(const Open& open) const;
  void give_out(std::map<std::uint64_t, Open>::iterator wave);

  std::shared_ptr<const Aggregation> aggregation_;  // Shared, see Aggregation.
  ReducerOptions options_;
  IntervalSet expected_;
  std::map<std::uint64_t, Open> open_;
  // Pairs of a deadline and a wave. Some of these waves may already be released.
  std::deque<std::pair<Nanos, std::uint64_t>> deadlines_;
  IntervalSet given_out_;
  std::vector<ReducedWave> ready_;
  std::size_t waiting_bytes_ = 0;
};

/// Returns the waves as packets. Consecutive waves with equal sources are put into one packet,
/// until it has `max_waves` waves or at least `max_bytes` bytes, or the next wave would not fit
/// into the frame.
std::vector<wire::Packet> pack(StreamId stream, std::vector<ReducedWave> waves,
                               std::size_t max_waves = 256, std::size_t max_bytes = 256u << 10);

}  // namespace xylem::filters
