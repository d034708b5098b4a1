#include "predict/disk/page_cache.h"

#include "base/check.h"

namespace xylem::predict {

void PageCache::unlink(std::uint32_t entry) {
  const Entry& it = entries_[entry];
  (it.newer == kNone ? newest_ : entries_[it.newer].older) = it.older;
  (it.older == kNone ? oldest_ : entries_[it.older].newer) = it.newer;
}

void PageCache::link_first(std::uint32_t entry) {
  entries_[entry].newer = kNone;
  entries_[entry].older = newest_;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = entry;
  newest_ = entry;
}

bool PageCache::use(const PageId& id) {
  const auto found = entry_of_.find(id);
  if (found == entry_of_.end()) return false;
  if (found->second != newest_) {
    unlink(found->second);
    link_first(found->second);
  }
  return true;
}

std::optional<EvictedPage> PageCache::put(const PageId& id, bool is_dirty) {
  if (capacity_ == 0) return EvictedPage{id, is_dirty};
  if (use(id)) {
    entries_[newest_].is_dirty |= is_dirty;
    return std::nullopt;
  }
  std::optional<EvictedPage> evicted;
  std::uint32_t entry = oldest_;
  if (size() < capacity_) {
    CHECK(entries_.size() < kNone);
    entry = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    evicted = {entries_[entry].id, entries_[entry].is_dirty};
    entry_of_.erase(entries_[entry].id);
    unlink(entry);
  }
  entries_[entry].id = id;
  entries_[entry].is_dirty = is_dirty;
  link_first(entry);
  entry_of_.emplace(id, entry);
  return evicted;
}

}  // namespace xylem::predict
