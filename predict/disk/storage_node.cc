#include "predict/disk/storage_node.h"

#include <algorithm>

namespace xylem::predict {

StorageNode::StorageNode(const StorageOptions& options, const StorageCosts& costs)
    : costs_(costs),
      page_bytes_(options.page_bytes),
      read_ahead_pages_(options.buffer_read_ahead_bytes / options.page_bytes),
      buffer_(options.buffer_bytes / options.page_bytes) {}

std::uint64_t StorageNode::end_page(const StoredRange& range) const {
  return (range.offset + range.bytes - 1) / page_bytes_ + 1;
}

Service StorageNode::serve(const StoredRange& range, Ticks now) {
  Service service;
  std::uint64_t ahead = 0;
  if (range.is_write) {
    service.disk = later(costs_.disk_write, cost_of(range.bytes, costs_.disk_per_byte));
    keep(range);
  } else {
    look_up(range, service);
    ahead = read_ahead(range, service.missed_bytes > 0);
    if (service.missed_bytes > 0) {
      service.disk = later(costs_.disk_read, cost_of(service.missed_bytes, costs_.disk_per_byte));
    }
  }
  service.end = later(later(std::max(now, free_), costs_.request), service.disk);
  free_ = later(service.end, cost_of(ahead, costs_.disk_per_byte));
  return service;
}

/// Puts the pages of a write into the buffer.
void StorageNode::keep(const StoredRange& range) {
  if (buffer_.capacity() == 0) return;
  for (std::uint64_t page = range.offset / page_bytes_; page < end_page(range); ++page) {
    buffer_.put({range.file, page}, false);
  }
}

/// Bytes of a page that are in the file.
std::uint64_t StorageNode::bytes_of(std::uint64_t page, const StoredRange& range) const {
  return std::min(page_bytes_, range.file_bytes - page * page_bytes_);
}

/// Finds the pages of a read, and puts those that are missing into the buffer.
void StorageNode::look_up(const StoredRange& range, Service& service) {
  const std::uint64_t first = range.offset / page_bytes_;
  if (buffer_.capacity() == 0) {
    service.missed_pages = end_page(range) - first;
    service.missed_bytes = range.bytes;
    return;
  }
  for (std::uint64_t page = first; page < end_page(range); ++page) {
    const PageId id{range.file, page};
    if (buffer_.use(id)) {
      ++service.hit_pages;
      continue;
    }
    ++service.missed_pages;
    service.missed_bytes += bytes_of(page, range);
    buffer_.put(id, false);
  }
}

/// Puts the pages behind a sequential read into the buffer. Returns the bytes that are read.
std::uint64_t StorageNode::read_ahead(const StoredRange& range, bool was_missing) {
  if (read_ahead_pages_ == 0) return 0;
  std::uint64_t& until = read_until_[range.file];
  const bool is_sequential = range.offset == until || range.offset == 0;
  until = range.offset + range.bytes;
  if (!is_sequential || !was_missing) return 0;
  const std::uint64_t first = end_page(range);
  const std::uint64_t pages = (range.file_bytes - 1) / page_bytes_ + 1;
  std::uint64_t bytes = 0;
  for (std::uint64_t page = first; page < std::min(first + read_ahead_pages_, pages); ++page) {
    const PageId id{range.file, page};
    if (!buffer_.has(id)) bytes += bytes_of(page, range);
    buffer_.put(id, false);
  }
  return bytes;
}

}  // namespace xylem::predict
