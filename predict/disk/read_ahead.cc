#include "predict/disk/read_ahead.h"

#include <algorithm>
#include <bit>

namespace xylem::predict {

std::uint64_t ReadAhead::first_size(std::uint64_t wanted) const {
  if (wanted > largest_ / 4) return largest_;
  const std::uint64_t size = std::bit_ceil(wanted);
  if (size <= largest_ / 32) return 4 * size;
  return size <= largest_ / 4 ? 2 * size : largest_;
}

std::uint64_t ReadAhead::next_size() const {
  return std::min(size_ < largest_ / 16 ? 4 * size_ : 2 * size_, largest_);
}

PageRange ReadAhead::move_on() {
  start_ += size_;
  size_ = next_size();
  marker_ = start_;
  return {start_, start_ + size_};
}

PageRange ReadAhead::on_absent(std::uint64_t page, std::uint64_t wanted) {
  const bool follows_window = size_ > 0 && page == start_ + size_;
  const bool is_sequential = page == 0 || page == last_ || page == last_ + 1;
  if (largest_ == 0 || (!follows_window && !is_sequential && wanted <= largest_)) {
    return {page, page + wanted};
  }
  if (page != 0 && follows_window) {
    move_on();
  } else {
    start_ = page;
    size_ = first_size(wanted);
    marker_ = size_ > wanted ? start_ + wanted : start_;
  }
  if (marker_ == page) {
    // The read would meet the marker at once: this window and the next one become one.
    const std::uint64_t more = next_size();
    if (size_ + more <= largest_) {
      marker_ = start_ + size_;
      size_ += more;
    } else {
      size_ = largest_;
      marker_ = start_ + size_ - size_ / 2;
    }
  }
  return {start_, start_ + size_};
}

PageRange ReadAhead::on_page(std::uint64_t page) {
  return page == marker_ ? move_on() : PageRange{};
}

}  // namespace xylem::predict
