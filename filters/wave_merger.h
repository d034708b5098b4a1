#pragma once

// Holds the packets of one stream's waves until all leaves have contributed, then merges them.
//
// The rules: packets of one wave are merged if their sources are disjoint and they are not marked
// `alone`. Packets marked `last` are merged separately from the others. All other packets are
// forwarded unchanged. Nothing is kept after its release, so a late packet is forwarded by itself.
// A wave is released when every leaf below that still sends has contributed, at the timeout, or
// when too many bytes wait.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/interval_set.h"
#include "wire/packet.h"

namespace xylem::filters {

/// Merges several payloads of disjoint sources into one. Returns false if a payload cannot be read.
/// Then the packets are forwarded unchanged, so that the root can report this.
using MergeFunction =
    std::function<bool(const std::vector<wire::Packet>& packets, wire::Bytes& merged)>;

struct WaveMergerOptions {
  /// Maximum wait after a wave's first packet.
  Nanos time_out = 150 * kMillisecond;
  /// Maximum size of waiting waves. If more waves wait, the oldest are released first.
  std::size_t max_waiting_bytes = 8u << 20;
  /// Breaks the rule above: packets of the same source are merged. Used only by the test that
  /// proves that the tree's model detects this mistake.
  bool merge_overlaps = false;
};

/// The waves of one stream. Not thread-safe.
class WaveMerger {
 public:
  explicit WaveMerger(MergeFunction merge, WaveMergerOptions options = {});

  /// Sets the leaves below that have neither ended nor closed the stream. Waves that waited only
  /// for other leaves become ready.
  void set_expected(const IntervalSet& leaves);

  /// Adds a packet. take_ready() then returns the packets that are ready.
  void add(wire::Packet packet, Nanos now);

  /// Returns the packets to send up, oldest wave first.
  std::vector<wire::Packet> take_ready(Nanos now);

  /// The next time at which a wave times out; a very late time if no wave waits.
  Nanos next_deadline() const;

  /// Returns everything that waits.
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
