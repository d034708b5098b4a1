#pragma once

// The storage of one replay: accesses of ranks to files, in the order of their times.
//
// A compute node has a page cache, which its ranks share.
// - A read goes through its pages in order. A page in the cache is a hit. An absent page is a miss:
//   it is requested together with those that read_ahead.h names, and the read waits for it.
//   A page that is under way already, mostly because it is read ahead, is awaited. Then the read
//   goes on with the next page, and ends with copying its bytes.
// - Pages that are requested together are one request for each stripe, and for each gap of pages
//   that are there. At most half of the cache is requested in one piece.
// - A page that has come is the last used one. Pages under way are not counted in the cache's size.
// - Write-back: a write puts its pages into the cache, and ends with copying its bytes. If dirty
//   pages must go to make room, it waits until they are written, neighbouring pages together. If a
//   read makes them go, they are written too, but the read does not wait. Pages that are dirty at
//   the end of the run are never written.
// - Write-through: the bytes are requests, one for each stripe. The write waits for all answers.
//   Its pages are in the cache afterwards.
// - A write of a part of a page does not read the rest of it.
// - Without a page cache each access is one request for each stripe, of exactly its bytes.
//
// A file ends with the last byte that any access touches; nothing is read beyond. It was written
// before the run, and no cache has any of it at the begin.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "predict/disk/options.h"
#include "predict/disk/page_cache.h"
#include "predict/disk/read_ahead.h"
#include "predict/disk/storage_requests.h"
#include "predict/network/network.h"

namespace xylem::predict {

/// Maximum number of pages that the accesses of a program touch, each access counted. They take
/// some minutes.
constexpr std::uint64_t kMaxAccessedPages = 1'000'000'000;
/// Maximum number of stripes that an access touches: so many requests may be under way for it.
constexpr std::uint64_t kMaxStripesOfAccess = std::uint64_t{1} << 20;
/// Maximum position in a file.
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 62;

/// A read or a write of a rank.
struct StorageAccess {
  Node node{};
  std::uint32_t rank = 0;
  std::uint32_t operation = 0;  ///< Handed back when the access has ended.
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< If 0, the access takes no time.
  bool is_write = false;
};

/// What happened in an access, and its time in parts. The sum of the parts is the total.
struct AccessReport {
  std::uint64_t hit_pages = 0;      ///< Of a read: in the page cache when the read came to it.
  std::uint64_t awaited_pages = 0;  ///< Of a read: requested before, but not there yet.
  std::uint64_t missed_pages = 0;   ///< Of a read: absent. Again if it has gone in the meantime.
  std::uint64_t requests = 0;       ///< That it has caused, those that read ahead included.
  std::uint64_t buffer_hits = 0;    ///< Of the requests for which it waited: pages in the buffer.
  std::uint64_t buffer_misses = 0;
  // Waiting for requests, by what these were doing. If it waited for several together, the one
  // that came last counts.
  Ticks connection = 0;
  Ticks request = 0;
  Ticks storage_node = 0;  ///< Queue and service, the disk array included.
  Ticks disk = 0;          ///< The part of `storage_node` in which the disk array was busy.
  Ticks reply = 0;
  Ticks copy = 0;
  Ticks total = 0;

  bool operator==(const AccessReport&) const = default;
};

struct EndedAccess {
  std::uint32_t rank = 0;
  std::uint32_t operation = 0;
  AccessReport report;
};

/// What all accesses of a run were.
struct StorageTotals {
  std::uint64_t reads = 0, writes = 0;
  std::uint64_t read_bytes = 0, written_bytes = 0;
  std::uint64_t hit_pages = 0, awaited_pages = 0, missed_pages = 0;
  RequestTotals requests;

  bool operator==(const StorageTotals&) const = default;
};

/// Not thread-safe. Calls come in the order of their times. After each call, steps() has the events
/// at which go_on() is to be called, and ended() the accesses that have ended at the time of
/// the call. At the same time, events come in the order of their creation; see Network.
class Storage {
 public:
  /// `options` has storage. `servers` has the node of each storage node; no access comes from one
  /// of them. `file_bytes` has the length of each file: no access goes beyond. `network` must
  /// outlive this, and may be that of a replay.
  Storage(const StorageOptions& options, const LogGpsCosts& ends, const std::vector<Node>& servers,
          std::vector<std::uint64_t> file_bytes, Network& network);
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void begin(const StorageAccess& access, Ticks now);
  void go_on(std::uint32_t id, Ticks now);

  std::span<const StorageStep> steps() const { return steps_; }
  std::span<const EndedAccess> ended() const { return ended_; }
  StorageTotals totals() const;

 private:
  /// The event of an access that ends has this bit, those of requests do not.
  static constexpr std::uint32_t kIsAccess = 0x80000000;

  struct Access {
    StorageAccess what;
    AccessReport report;
    Ticks begun = 0;
    Ticks waits_since = 0;
    std::uint64_t open = 0;  ///< Requests for which it waits.
    std::uint64_t page = 0, end_page = 0;
    std::vector<PageRange> missed;  ///< What the last absent page made it request.
    std::size_t next_missed = 0;    ///< The first of these that does not lie behind `page`.
    bool is_paged = false;          ///< A read through the page cache.
  };
  struct NodeCache {
    PageCache pages;
    std::unordered_map<PageId, std::uint32_t, PageIdHash> under_way;  ///< Their requests.
  };

  NodeCache& cache_of(Node node);
  ReadAhead& window_of(const StorageAccess& access);
  std::uint64_t pages_of(std::uint32_t file) const;

  // `id` is the index of an access.
  void read_on(std::uint32_t id, Ticks now);
  void request_absent(Access& access, PageRange range, Ticks now);
  static bool was_missed(Access& access, std::uint64_t page);
  void fetch(Access& access, PageRange range, Ticks now, std::vector<PageRange>* runs);
  void write(std::uint32_t id, Ticks now);
  void send_bytes(std::uint32_t id, Ticks now);
  void write_out(Node node, std::span<const EvictedPage> dirty, std::uint32_t id, Ticks now);
  void end_after_copy(std::uint32_t id, Ticks now);
  void wait_for(std::uint32_t id, std::uint32_t request);
  void delivered(std::uint32_t request, Ticks now);
  void take_pages(const StorageRequest& of, Ticks now);
  void count_wait(Access& access, const RequestTimes& times, Ticks now);
  void end(std::uint32_t id, Ticks now);

  const StorageOptions options_;
  const StorageCosts costs_;
  const std::vector<std::uint64_t> file_bytes_;
  std::vector<StorageStep> steps_;
  std::vector<EndedAccess> ended_;
  StorageRequests requests_;
  std::vector<std::vector<std::uint32_t>> waiting_;  ///< For each request: accesses.
  std::vector<Access> accesses_;
  std::vector<std::uint32_t> unused_;
  std::unordered_map<std::uint32_t, NodeCache> caches_;   ///< By node.
  std::unordered_map<std::uint64_t, ReadAhead> windows_;  ///< By rank and file.
  StorageTotals totals_;
};

}  // namespace xylem::predict
