#pragma once

// A cache of pages. If it is full, the page that was not used for the longest time goes (LRU).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace xylem::predict {

/// A page of a file. Files and their pages are numbered from 0.
struct PageId {
  std::uint32_t file = 0;
  std::uint64_t page = 0;

  bool operator==(const PageId&) const = default;
};

struct PageIdHash {
  std::size_t operator()(const PageId& it) const {
    // Odd factors, so that neighbouring pages of neighbouring files do not meet.
    return static_cast<std::size_t>((it.page ^ (std::uint64_t{it.file} << 40)) *
                                    0x9e3779b97f4a7c15);
  }
};

/// A page that has left a cache.
struct EvictedPage {
  PageId id;
  bool is_dirty = false;

  bool operator==(const EvictedPage&) const = default;
};

/// At most `capacity` pages. Each call takes constant time. Needs some 90 bytes for each page that
/// it holds. A value type; not thread-safe.
class PageCache {
 public:
  /// With a capacity of 0 the cache stays empty.
  explicit PageCache(std::uint64_t capacity) : capacity_(capacity) {}

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t size() const { return entry_of_.size(); }
  /// Does not count as a use.
  bool has(const PageId& id) const { return entry_of_.contains(id); }

  /// Whether the cache has the page. If it has, this is the page's last use.
  bool use(const PageId& id);

  /// Adds the page, or uses it if it is there. A dirty page stays dirty until it is evicted.
  /// Returns the page that had to go, which may be dirty. With a capacity of 0 this is `id` itself.
  std::optional<EvictedPage> put(const PageId& id, bool is_dirty);

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  /// An entry of the list, which goes from the last use to the first.
  struct Entry {
    PageId id;
    std::uint32_t newer = kNone, older = kNone;
    bool is_dirty = false;
  };

  void unlink(std::uint32_t entry);
  void link_first(std::uint32_t entry);

  std::uint64_t capacity_;
  std::vector<Entry> entries_;
  std::uint32_t newest_ = kNone, oldest_ = kNone;
  std::unordered_map<PageId, std::uint32_t, PageIdHash> entry_of_;
};

}  // namespace xylem::predict
