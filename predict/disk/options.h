#pragma once

// What a target says about its storage, and the same times in ticks.

#include <array>
#include <cstdint>
#include <vector>

#include "predict/network/loggps.h"

namespace xylem::predict {

/// What a compute node reads before it is asked for. See read_ahead.h.
enum class ReadAheadPolicy : std::uint8_t { kSequential, kNone };

/// When the bytes of a write go to the storage nodes.
enum class WritePolicy : std::uint8_t {
  kBack,     ///< When the page cache needs room for other pages.
  kThrough,  ///< At once. The write ends when all storage nodes have answered.
};

/// How often a compute node establishes a connection to a storage node.
enum class ConnectionPolicy : std::uint8_t {
  kKept,        ///< Once, before its first request.
  kPerRequest,  ///< Before each request, as equation (6) says it.
};

/// The section [storage]. Sizes are in bytes. Multiples of the page size: stripe, page cache,
/// read-ahead, buffer, and the buffer's read-ahead.
struct StorageOptions {
  std::uint32_t nodes = 0;              ///< Storage nodes. 0: the target has no storage.
  std::vector<std::uint32_t> attached;  ///< Their nodes. Empty: the last ones of the topology.
  std::uint64_t stripe_bytes = 0;       ///< Above 0.
  std::uint64_t page_bytes = 4096;      ///< Above 0.
  std::uint64_t page_cache_bytes = 0;   ///< Of each compute node. 0: none.
  ReadAheadPolicy read_ahead = ReadAheadPolicy::kNone;
  std::uint64_t read_ahead_bytes = 0;  ///< The largest window. At most half of the page cache.
  WritePolicy write = WritePolicy::kThrough;  ///< kBack needs a page cache.
  ConnectionPolicy connection = ConnectionPolicy::kKept;
  Femtoseconds copy_per_byte{};               ///< Between page cache and program.
  std::uint64_t buffer_bytes = 0;             ///< Of each storage node. 0: none.
  std::uint64_t buffer_read_ahead_bytes = 0;  ///< 0: none. At most half of the buffer.
  Femtoseconds request{};                     ///< Time of a storage node for a request.
  Femtoseconds disk_read{}, disk_write{};     ///< Mean latencies of a disk array.
  Femtoseconds disk_per_byte{};

  bool operator==(const StorageOptions&) const = default;
};

/// The times of the options: a tick must divide them.
std::array<Femtoseconds, 5> times_of(const StorageOptions& options);

/// The same in ticks.
struct StorageCosts {
  /// The ticks of `ends` divide the times of the options.
  StorageCosts(const StorageOptions& options, const LogGpsCosts& ends);

  Ticks copy_per_byte, request, disk_read, disk_write, disk_per_byte;
};

/// The time after `cost` from `time`, which is at most kMaxTicks. The result is, too.
constexpr Ticks later(Ticks time, Ticks cost) {
  return cost < kMaxTicks - time ? time + cost : kMaxTicks;
}

/// The cost of `bytes`, at most kMaxTicks.
Ticks cost_of(std::uint64_t bytes, Ticks per_byte);

}  // namespace xylem::predict
