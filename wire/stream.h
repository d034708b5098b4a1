#pragma once

// The description of a tool's stream for all nodes of a tree. It travels down as part of Control.

#include <array>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "wire/packet.h"

namespace xylem::wire {

/// When a node passes on a wave.
enum class Synchronisation : std::uint16_t {
  kWaitForAll = 0,  ///< When every leaf below has contributed; a limit applies to silent ones.
  kTimeOut = 1,     ///< The same, or `time_out_ns` after the first contribution.
  kAsItComes = 2,   ///< At once.
};

/// What a leaf does when its journal has no room.
enum class WhenFull : std::uint16_t {
  kBlock = 0,       ///< Sending waits.
  kDropOldest = 1,  ///< The oldest packets become tombstones.
  kDropNewest = 2,  ///< The new packet becomes a tombstone.
};

using Sha256 = std::array<std::uint8_t, 32>;

/// The payload of a packet of kStreamAccountStream is one Fields (wire/waves.h) with two arrays of
/// uint64 of equal length: streams, and the number of waves that the leaf has sent on each,
/// including those given up. A back end sends it every second while it changes, and as its last
/// packet when it leaves.
constexpr std::uint16_t kAccountStreams = 1;
constexpr std::uint16_t kAccountSent = 2;

struct StreamSpec {
  StreamId id{};       ///< From kFirstToolStream on; never used again within a run.
  std::string name;    ///< Leaves find it by name; unique among open streams.
  IntervalSet leaves;  ///< Empty: all, also those that join later.
  Synchronisation synchronisation = Synchronisation::kWaitForAll;
  Nanos time_out_ns = 0;    ///< For kTimeOut.
  std::string aggregation;  ///< "sum", ...; empty: packets are passed on as they are.
  Bytes parameters;         ///< Of the aggregation: one Fields, see wire/waves.h.
  std::string plugin;       ///< Absolute path of its shared object; empty: built in.
  Sha256 plugin_sha256{};   ///< Hash of that file: the same on every node.
  WhenFull when_full = WhenFull::kBlock;
  std::string narrowing;         ///< "scatter", ...; empty: a multicast is the same for all.
  Bytes narrowing_parameters;    ///< As `parameters`.
  std::string narrowing_plugin;  ///< As `plugin`.
  Sha256 narrowing_sha256{};     ///< As `plugin_sha256`.
  bool operator==(const StreamSpec&) const = default;
};

}  // namespace xylem::wire
