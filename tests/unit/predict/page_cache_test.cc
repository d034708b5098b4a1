#include "predict/disk/page_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace xylem::predict {
namespace {

/// The same as a list in the order of use, which is searched from end to end.
class SlowCache {
 public:
  explicit SlowCache(std::size_t capacity) : capacity_(capacity) {}

  bool use(const PageId& id) {
    const auto found = find(id);
    if (found == pages_.end()) return false;
    std::rotate(found, found + 1, pages_.end());
    return true;
  }

  std::optional<EvictedPage> put(const PageId& id, bool is_dirty) {
    if (use(id)) {
      pages_.back().is_dirty = pages_.back().is_dirty || is_dirty;
      return std::nullopt;
    }
    pages_.push_back({id, is_dirty});
    if (pages_.size() <= capacity_) return std::nullopt;
    const EvictedPage first = pages_.front();
    pages_.erase(pages_.begin());
    return first;
  }

  bool has(const PageId& id) { return find(id) != pages_.end(); }
  std::size_t size() const { return pages_.size(); }

 private:
  std::vector<EvictedPage>::iterator find(const PageId& id) {
    return std::ranges::find(pages_, id, &EvictedPage::id);
  }

  std::size_t capacity_;
  std::vector<EvictedPage> pages_;  ///< The last is the one that was used last.
};

TEST(PageCache, AgreesWithASlowListOnRandomUses) {
  std::mt19937 random(20240601);  // Fixed, so that a failure can be repeated.
  for (const std::uint64_t capacity : {0u, 1u, 2u, 7u, 40u}) {
    SCOPED_TRACE(capacity);
    PageCache cache(capacity);
    SlowCache slow(capacity);
    for (int i = 0; i < 5000; ++i) {
      const PageId id{static_cast<std::uint32_t>(random() % 3), random() % 20};
      if (random() % 2 == 0) {
        ASSERT_EQ(cache.use(id), slow.use(id)) << i;
      } else {
        const bool is_dirty = random() % 4 == 0;
        ASSERT_EQ(cache.put(id, is_dirty), slow.put(id, is_dirty)) << i;
      }
      ASSERT_EQ(cache.size(), slow.size());
      const PageId other{static_cast<std::uint32_t>(random() % 3), random() % 20};
      ASSERT_EQ(cache.has(other), slow.has(other)) << i;
    }
  }
}

TEST(PageCache, KeepsAPageDirtyUntilItGoes) {
  PageCache cache(1);
  EXPECT_EQ(cache.put({0, 1}, true), std::nullopt);
  EXPECT_EQ(cache.put({0, 1}, false), std::nullopt);
  EXPECT_EQ(cache.put({0, 2}, false), (EvictedPage{{0, 1}, true}));
  EXPECT_EQ(cache.put({0, 1}, false), (EvictedPage{{0, 2}, false}));
}

}  // namespace
}  // namespace xylem::predict
