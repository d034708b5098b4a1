#pragma once

// Keeps the packets of one stream until all leaves have contributed to a wave, then merges the
// packets of this wave.
//
// Packets of one wave are merged if their sources are disjoint. Packets marked `last` are merged
// only with each other. Packets with overlapping sources, packets marked `alone` and tombstones are
// forwarded unchanged. After a wave is released, its packets are no longer kept. A late packet
// starts the wave again.
//
// A wave is released when all expected leaves have contributed. It is released earlier after a
// timeout, or if too many bytes wait.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/interval_set.h"
#include "wire/packet.h"

namespace xylem::filters {

/// Merges the payloads of packets with disjoint sources. Returns false if they cannot be merged,
/// for example because a payload cannot be decoded. The packets are then forwarded unchanged.
using MergeFunction =
    std::function<bool(const std::vector<wire::Packet>& packets, wire::Bytes& merged)>;

struct WaveMergerOptions {
  /// Maximum wait after a wave's first packet.
  Nanos time_out = 150 * kMillisecond;
  /// Maximum size of waiting waves in bytes. If more bytes wait, the oldest waves are released
  /// first.
  std::size_t max_waiting_bytes = 8u << 20;
  /// If true, packets are merged even if their sources overlap. This is a deliberate error: a test
  /// uses it to prove that the tree's model detects the error.
  bool merge_overlaps = false;
};

/// The waves of one stream. Not thread-safe.
class WaveMerger {
 public:
  explicit WaveMerger(MergeFunction merge, WaveMergerOptions options = {});

  /// Sets the expected leaves: the leaves below this node that have neither ended nor closed the
  /// stream. Waves that have a contribution of each of these leaves become ready.
  void set_expected(const IntervalSet& leaves);

  /// Adds a packet. take_ready() then returns the packets that are ready.
  void add(wire::Packet packet, Nanos now);

  /// Returns the packets to send up: first those that are forwarded unchanged, then the released
  /// waves in the order of their numbers.
  std::vector<wire::Packet> take_ready(Nanos now);

  /// Returns the next time at which a wave times out; a very late time if no wave waits.
  Nanos next_deadline() const;

  /// Returns all waiting packets.
  std::vector<wire::Packet> flush();

  std::size_t waiting_bytes() const noexcept { return waiting_bytes_; }

 private:
  struct Wave {
    Nanos deadline = 0;
    IntervalSet sources;
    std::vector<wire::Packet> packets;
  };

  void give_out(Wave wave);
  void give_out_merged(std::vector<wire::Packet> packets);

  MergeFunction merge_;
  WaveMergerOptions options_;
  IntervalSet expected_;
  std::map<std::uint64_t, Wave> waves_;
  std::vector<wire::Packet> ready_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace xylem::filters
