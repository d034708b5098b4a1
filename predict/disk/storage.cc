#include "predict/disk/storage.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "base/saturating.h"

namespace xylem::predict {
namespace {

/// For write_out(): nobody waits.
constexpr std::uint32_t kNobody = 0xffffffff;

}  // namespace

Storage::Storage(const StorageOptions& options, const LogGpsCosts& ends,
                 const std::vector<Node>& servers, std::vector<std::uint64_t> file_bytes,
                 Network& network)
    : options_(options),
      costs_(options, ends),
      file_bytes_(std::move(file_bytes)),
      requests_(options, ends, servers, file_bytes_, network, steps_) {}

void Storage::begin(const StorageAccess& access, Ticks now) {
  steps_.clear();
  ended_.clear();
  CHECK(access.offset + access.bytes <= file_bytes_.at(access.file));
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(accesses_.size()));
    accesses_.emplace_back();
  }
  const std::uint32_t id = unused_.back();
  unused_.pop_back();
  Access& it = accesses_[id];
  it = {};
  it.what = access;
  it.begun = it.waits_since = now;
  if (access.bytes == 0) {
    end(id, now);
  } else if (access.is_write) {
    write(id, now);
  } else if (options_.page_cache_bytes == 0) {
    send_bytes(id, now);
  } else {
    it.is_paged = true;
    it.page = access.offset / options_.page_bytes;
    it.end_page = (access.offset + access.bytes - 1) / options_.page_bytes + 1;
    read_on(id, now);
  }
}

void Storage::go_on(std::uint32_t id, Ticks now) {
  steps_.clear();
  ended_.clear();
  if ((id & kIsAccess) != 0) {
    end(id & ~kIsAccess, now);
  } else if (requests_.go_on(id, now)) {
    delivered(id, now);
  }
}

StorageTotals Storage::totals() const {
  StorageTotals totals = totals_;
  totals.requests = requests_.totals();
  return totals;
}

Storage::NodeCache& Storage::cache_of(Node node) {
  const auto found = caches_.find(raw(node));
  if (found != caches_.end()) return found->second;
  const std::uint64_t pages = options_.page_cache_bytes / options_.page_bytes;
  return caches_.emplace(raw(node), NodeCache{PageCache(pages), {}}).first->second;
}

ReadAhead& Storage::window_of(const StorageAccess& access) {
  const std::uint64_t largest = options_.read_ahead == ReadAheadPolicy::kSequential
                                    ? options_.read_ahead_bytes / options_.page_bytes
                                    : 0;
  return windows_.try_emplace(std::uint64_t{access.rank} << 32 | access.file, ReadAhead(largest))
      .first->second;
}

std::uint64_t Storage::pages_of(std::uint32_t file) const {
  return (file_bytes_[file] + options_.page_bytes - 1) / options_.page_bytes;
}

/// Goes through the pages of a read until one is not there.
void Storage::read_on(std::uint32_t id, Ticks now) {
  Access& access = accesses_[id];
  NodeCache& cache = cache_of(access.what.node);
  ReadAhead& window = window_of(access.what);
  for (; access.page < access.end_page; ++access.page) {
    const PageId page{access.what.file, access.page};
    const bool is_there = cache.pages.use(page);
    if (!is_there && !cache.under_way.contains(page)) {
      request_absent(access, window.on_absent(access.page, access.end_page - access.page), now);
    }
    if (!was_missed(access, access.page)) {
      ++(is_there ? access.report.hit_pages : access.report.awaited_pages);
    }
    if (const PageRange ahead = window.on_page(access.page); !ahead.empty()) {
      fetch(access, ahead, now, nullptr);
    }
    if (is_there) continue;
    wait_for(id, cache.under_way.at(page));
    access.waits_since = now;
    return;
  }
  window.ended(access.end_page - 1);
  end_after_copy(id, now);
}

/// Requests the absent pages of a range, and counts those that the read wants as missed.
void Storage::request_absent(Access& access, PageRange range, Ticks now) {
  const std::uint64_t half =
      std::max<std::uint64_t>(options_.page_cache_bytes / options_.page_bytes / 2, 1);
  range.end = std::min(range.end, range.first + half);
  access.missed.clear();
  access.next_missed = 0;
  fetch(access, range, now, &access.missed);
  for (const PageRange& it : access.missed) {
    access.report.missed_pages += saturating_subtract(std::min(it.end, access.end_page), it.first);
  }
}

/// Whether a page was counted as missed when it was requested. Pages come in their order.
bool Storage::was_missed(Access& access, std::uint64_t page) {
  std::size_t& next = access.next_missed;
  while (next < access.missed.size() && access.missed[next].end <= page) ++next;
  return next < access.missed.size() && access.missed[next].first <= page;
}

/// Requests the absent pages of a range: one request for each run of them in a stripe. Adds these
/// runs to `runs`, which may be null.
void Storage::fetch(Access& access, PageRange range, Ticks now, std::vector<PageRange>* runs) {
  const StorageAccess& what = access.what;
  NodeCache& cache = cache_of(what.node);
  range.end = std::min(range.end, pages_of(what.file));
  const auto is_absent = [&](std::uint64_t page) {
    const PageId id{what.file, page};
    return !cache.pages.has(id) && !cache.under_way.contains(id);
  };
  for (std::uint64_t page = range.first; page < range.end;) {
    if (!is_absent(page)) {
      ++page;
      continue;
    }
    const std::uint64_t offset = page * options_.page_bytes;
    const StoredAt at = requests_.stripes().find(what.file, offset);
    const std::uint64_t limit = std::min(range.end, page + at.contiguous / options_.page_bytes);
    PageRange run{page, page + 1};
    while (run.end < limit && is_absent(run.end)) ++run.end;
    const std::uint64_t bytes =
        std::min(run.end * options_.page_bytes, file_bytes_[what.file]) - offset;
    const std::uint32_t request =
        requests_.send({what.node, what.file, offset, bytes, false, run}, now);
    ++access.report.requests;
    if (runs != nullptr) runs->push_back(run);
    for (; page < run.end; ++page) cache.under_way.emplace(PageId{what.file, page}, request);
  }
}

void Storage::write(std::uint32_t id, Ticks now) {
  const StorageAccess& what = accesses_[id].what;
  const bool is_dirty = options_.write == WritePolicy::kBack;
  std::vector<EvictedPage> dirty;
  if (options_.page_cache_bytes > 0) {
    PageCache& pages = cache_of(what.node).pages;
    const std::uint64_t end = (what.offset + what.bytes - 1) / options_.page_bytes;
    for (std::uint64_t page = what.offset / options_.page_bytes; page <= end; ++page) {
      const auto evicted = pages.put({what.file, page}, is_dirty);
      if (evicted && evicted->is_dirty) dirty.push_back(*evicted);
    }
  }
  if (!is_dirty) {
    send_bytes(id, now);
    return;
  }
  write_out(what.node, dirty, id, now);
  if (accesses_[id].open == 0) end_after_copy(id, now);
}

/// Requests exactly the bytes of an access: one request for each stripe.
void Storage::send_bytes(std::uint32_t id, Ticks now) {
  Access& access = accesses_[id];
  const StorageAccess& what = access.what;
  const std::uint64_t end = what.offset + what.bytes;
  for (std::uint64_t offset = what.offset; offset < end;) {
    const StoredAt at = requests_.stripes().find(what.file, offset);
    const std::uint64_t bytes = std::min(at.contiguous, end - offset);
    wait_for(
        id, requests_.send({what.node, what.file, offset, bytes, what.is_write, PageRange{}}, now));
    ++access.report.requests;
    offset += bytes;
  }
}

/// Writes dirty pages: one request for each run of them in a stripe. `id` waits, or kNobody.
void Storage::write_out(Node node, std::span<const EvictedPage> dirty, std::uint32_t id,
                        Ticks now) {
  for (std::size_t i = 0; i < dirty.size();) {
    const PageId& first = dirty[i].id;
    const std::uint64_t offset = first.page * options_.page_bytes;
    const StoredAt at = requests_.stripes().find(first.file, offset);
    std::uint64_t pages = 1;
    while (i + pages < dirty.size() && pages < at.contiguous / options_.page_bytes &&
           dirty[i + pages].id == PageId{first.file, first.page + pages}) {
      ++pages;
    }
    i += pages;
    const std::uint64_t bytes =
        std::min(pages * options_.page_bytes, file_bytes_[first.file] - offset);
    const std::uint32_t request =
        requests_.send({node, first.file, offset, bytes, true, PageRange{}}, now);
    if (id == kNobody) continue;
    wait_for(id, request);
    ++accesses_[id].report.requests;
  }
}

void Storage::wait_for(std::uint32_t id, std::uint32_t request) {
  if (request >= waiting_.size()) waiting_.resize(request + 1);
  waiting_[request].push_back(id);
  ++accesses_[id].open;
}

void Storage::end_after_copy(std::uint32_t id, Ticks now) {
  Access& access = accesses_[id];
  access.report.copy = cost_of(access.what.bytes, costs_.copy_per_byte);
  steps_.push_back({later(now, access.report.copy), id | kIsAccess, false});
}

/// The answer to a request has come.
void Storage::delivered(std::uint32_t request, Ticks now) {
  if (!requests_.request(request).pages.empty()) take_pages(requests_.request(request), now);
  if (request < waiting_.size()) {
    for (const std::uint32_t id : std::exchange(waiting_[request], {})) {
      Access& access = accesses_[id];
      const RequestTimes& times = requests_.times(request);
      access.report.buffer_hits += times.service.hit_pages;
      access.report.buffer_misses += times.service.missed_pages;
      if (--access.open > 0) continue;
      count_wait(access, times, now);
      if (access.is_paged) {
        ++access.page;
        read_on(id, now);
      } else if (options_.page_cache_bytes > 0) {
        end_after_copy(id, now);
      } else {
        end(id, now);
      }
    }
  }
  requests_.forget(request);
}

/// Puts the pages of an answer into the cache of the node that has asked for them.
void Storage::take_pages(const StorageRequest& of, Ticks now) {
  const StorageRequest request = of;  // write_out() moves requests in memory.
  NodeCache& cache = cache_of(request.node);
  std::vector<EvictedPage> dirty;
  for (std::uint64_t at = request.pages.first; at < request.pages.end; ++at) {
    const PageId page{request.file, at};
    cache.under_way.erase(page);
    const auto evicted = cache.pages.put(page, false);
    if (evicted && evicted->is_dirty) dirty.push_back(*evicted);
  }
  write_out(request.node, dirty, kNobody, now);
}

/// Adds the time in which an access has waited, by what the request was doing.
void Storage::count_wait(Access& access, const RequestTimes& times, Ticks now) {
  const auto part = [&](Ticks from, Ticks to) {
    return saturating_subtract(std::min(to, now), std::max(from, access.waits_since));
  };
  AccessReport& report = access.report;
  report.connection += part(times.sent, times.connected);
  report.request += part(times.connected, times.arrived);
  report.storage_node += part(times.arrived, times.served);
  report.disk += part(times.served - times.service.disk, times.served);
  report.reply += part(times.served, times.delivered);
}

void Storage::end(std::uint32_t id, Ticks now) {
  Access& access = accesses_[id];
  const StorageAccess& what = access.what;
  AccessReport& report = access.report;
  report.total = now - access.begun;
  ++(what.is_write ? totals_.writes : totals_.reads);
  std::uint64_t& bytes = what.is_write ? totals_.written_bytes : totals_.read_bytes;
  bytes = saturating_add(bytes, what.bytes);
  totals_.hit_pages += report.hit_pages;
  totals_.awaited_pages += report.awaited_pages;
  totals_.missed_pages += report.missed_pages;
  ended_.push_back({what.rank, what.operation, report});
  unused_.push_back(id);
}

}  // namespace xylem::predict
