#pragma once

// What all nodes of a tree must know of a tool's stream. It travels down as part of Control.

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
  kWaitForAll = 0,  ///< Every leaf below has contributed; a silent one is not awaited for ever.
  kTimeOut = 1,     ///< The same, or a time after the first contribution.
  kAsItComes = 2,   ///< At once.
};

/// What a leaf does when its journal has no room.
enum class WhenFull : std::uint16_t {
  kBlock = 0,       ///< Sending waits.
  kDropOldest = 1,  ///< The oldest packets become tombstones.
  kDropNewest = 2,  ///< What is sent becomes a tombstone.
};

using Sha256 = std::array<std::uint8_t, 32>;

/// The payload of a packet of kStreamAccountStream is one Fields (wire/waves.h) with two arrays of
/// uint64 of one length: streams, and how many waves its leaf has sent on each so far, those that
/// it has given up included. A back end sends it each second while it changes, and when it leaves,
/// as its last packet.
constexpr std::uint16_t kAccountStreams = 1;
constexpr std::uint16_t kAccountSent = 2;

struct StreamSpec {
  StreamId id{};       ///< From kFirstToolStream on; never used again within a run.
  std::string name;    ///< By which leaves find it; unique among open streams.
  IntervalSet leaves;  ///< Empty: all, also those that join later.
  Synchronisation synchronisation = Synchronisation::kWaitForAll;
  Nanos time_out_ns = 0;    ///< For kTimeOut.
  std::string aggregation;  ///< "sum", ...; empty: packets are passed on as they are.
  Bytes parameters;         ///< Of the aggregation: one Fields, see wire/waves.h.
  std::string plugin;       ///< Absolute path of the shared object that has it; empty: built in.
  Sha256 plugin_sha256{};   ///< Of that file: the same on every node.
  WhenFull when_full = WhenFull::kBlock;
  std::string narrowing;         ///< "scatter", ...; empty: a multicast is the same for all.
  Bytes narrowing_parameters;    ///< As `parameters`.
  std::string narrowing_plugin;  ///< As `plugin`.
  Sha256 narrowing_sha256{};     ///< As `plugin_sha256`.
  bool operator==(const StreamSpec&) const = default;
};

}  // namespace xylem::wire
