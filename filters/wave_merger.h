#pragma once

// Holds the packets of one stream's waves until their leaves have answered, then merges them.
//
// The rules (design section 6): packets of one wave with disjoint sources that are not marked
// `alone` are merged, those that are the `last` of their sources apart from the others; anything
// else is passed on as it is. Nothing is kept after it was given out,
// so a late packet goes on by itself. Waiting ends when every leaf below that still sends has
// contributed, or when the time is up, or when too many bytes wait.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/interval_set.h"
#include "wire/packet.h"

namespace xylem::filters {

/// Makes one payload of several; the sources are disjoint. Fails by returning false when a payload
/// cannot be read: the packets are then passed on as they are, so that the root can say so.
using MergeFunction =
    std::function<bool(const std::vector<wire::Packet>& packets, wire::Bytes& merged)>;

struct WaveMergerOptions {
  /// A wave waits no longer than this after its first packet.
  Nanos time_out = 150 * kMillisecond;
  /// More than this never waits; the oldest waves are given out first.
  std::size_t max_waiting_bytes = 8u << 20;
  /// Breaks the rule above: packets of the same source are merged. For the test that shows that the
  /// model of the tree notices.
  bool merge_overlaps = false;
};

/// One stream's waves. Not thread-safe.
class WaveMerger {
 public:
  explicit WaveMerger(MergeFunction merge, WaveMergerOptions options = {});

  /// The leaves that are below now and neither ended nor closed. Waves that waited for others only
  /// become ready.
  void set_expected(const IntervalSet& leaves);

  /// Takes a packet. What is ready then comes out of take_ready().
  void add(wire::Packet packet, Nanos now);

  /// Packets to send up, oldest wave first.
  std::vector<wire::Packet> take_ready(Nanos now);

  /// When the next wave's time is up; a very late time when none waits.
  Nanos next_deadline() const;

  /// Gives out everything that waits.
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
