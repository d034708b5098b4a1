#pragma once

// The description of a tool's stream for all nodes of a tree. It travels down as part of Control.

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "base/sha256.h"
#include "wire/packet.h"

namespace xylem::wire {

/// Decides when a node forwards a wave.
enum class Synchronisation : std::uint16_t {
  /// When every leaf below has contributed, but at the latest 6 s after the first contribution
  /// (ReducerOptions::longest_wait).
  kWaitForAll = 0,
  /// When every leaf below has contributed, but at the latest `time_out_ns` after the first
  /// contribution.
  kTimeOut = 1,
  kAsItComes = 2,  ///< Immediately.
};

/// The behaviour of a leaf when its journal is full. Dropped waves are reported in a tombstone.
enum class WhenFull : std::uint16_t {
  kBlock = 0,       ///< Sending waits until there is space.
  kDropOldest = 1,  ///< Drops the oldest waves that wait for space in the journal.
  kDropNewest = 2,  ///< Drops the new waves.
};

/// The payload of a packet of kStreamAccountStream is one `Fields` object (wire/waves.h). It has
/// two arrays of uint64 of equal length. `kAccountStreams` lists the streams. `kAccountSent` is the
/// number of waves that the leaf has sent on each stream, including waves that were given up. A
/// back end sends this packet every second while the numbers change, and as its last packet.
constexpr std::uint16_t kAccountStreams = 1;
constexpr std::uint16_t kAccountSent = 2;

struct StreamSpec {
  StreamId id{};       ///< At least kFirstToolStream. An id is never reused within a run.
  std::string name;    ///< Leaves find the stream by its name. Open streams have different names.
  IntervalSet leaves;  ///< Leaves of the stream. Empty: all leaves, also leaves that join later.
  Synchronisation synchronisation = Synchronisation::kWaitForAll;
  Nanos time_out_ns = 0;    ///< Used only with kTimeOut.
  std::string aggregation;  ///< "sum", ...; empty: packets are forwarded unchanged.
  Bytes parameters;         ///< Parameters of the aggregation: one encoded `Fields` object.
  std::string plugin;       ///< Absolute path of the aggregation's shared object; empty: built in.
  /// Hash of the aggregation's shared object. The file must be the same on every node.
  Sha256 plugin_sha256{};
  WhenFull when_full = WhenFull::kBlock;
  std::string narrowing;       ///< "scatter", ...; empty: all leaves get the same multicast.
  Bytes narrowing_parameters;  ///< Parameters of the narrowing.
  /// Absolute path of the narrowing's shared object; empty: built in.
  std::string narrowing_plugin;
  Sha256 narrowing_sha256{};  ///< Hash of the narrowing's shared object.
  bool operator==(const StreamSpec&) const = default;
};

}  // namespace xylem::wire
