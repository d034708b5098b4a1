#pragma once

// One storage node. It serves one request after the other, in the order in which they arrive.
//
// A request takes the node's time for a request. A read of pages that are not in the node's buffer
// then takes the disk array's mean latency plus the time of the missing bytes: a miss is linear in
// its size (SimHPC, 3.3). The missing bytes of a request are read together. If the read continues
// where the last one of the same file has ended, or begins at the first byte, the disk array goes
// on and reads ahead. This keeps the storage node busy after it has answered. A write is on the
// disk array before it is answered. Its pages stay in the buffer.
//
// A storage node without a buffer reads exactly the bytes of a request, otherwise whole pages.

#include <cstdint>
#include <unordered_map>

#include "predict/disk/options.h"
#include "predict/disk/page_cache.h"

namespace xylem::predict {

/// What a storage node is to do. Offsets count in its own part of the file.
struct StoredRange {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;       ///< Above 0.
  std::uint64_t file_bytes = 0;  ///< Length of its part. The range ends before it.
  bool is_write = false;
};

/// How a request was served.
struct Service {
  Ticks end = 0;   ///< At most kMaxTicks.
  Ticks disk = 0;  ///< Time of the disk array until the end.
  std::uint64_t hit_pages = 0;
  std::uint64_t missed_pages = 0;
  std::uint64_t missed_bytes = 0;  ///< Read from the disk array, without what is read ahead.

  bool operator==(const Service&) const = default;
};

/// A value type; not thread-safe.
class StorageNode {
 public:
  StorageNode(const StorageOptions& options, const StorageCosts& costs);

  /// Calls come in the order of `now`, which is at most kMaxTicks.
  Service serve(const StoredRange& range, Ticks now);

 private:
  void keep(const StoredRange& range);
  void look_up(const StoredRange& range, Service& service);
  std::uint64_t read_ahead(const StoredRange& range, bool was_missing);
  std::uint64_t bytes_of(std::uint64_t page, const StoredRange& range) const;
  std::uint64_t end_page(const StoredRange& range) const;

  const StorageCosts costs_;
  const std::uint64_t page_bytes_;
  const std::uint64_t read_ahead_pages_;
  PageCache buffer_;
  Ticks free_ = 0;
  std::unordered_map<std::uint32_t, std::uint64_t> read_until_;  ///< By file: end of the last read.
};

}  // namespace xylem::predict
