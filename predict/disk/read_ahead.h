#pragma once

// Which pages a compute node reads before a program asks for them. The rule is that of Linux
// 5.10 (its source mm/readahead, on-demand read-ahead), in outline:
//
// - Each stream, that is each rank's view of a file, has a window: a range of pages that it has
//   read last. The last part of the window was read ahead. Its first page is the marker.
// - A read of an absent page is sequential if the page is the file's first one, if it follows the
//   page with which the stream's last read ended (or is that page again), if it follows the window,
//   or if the read is longer than the largest window. Then a new window begins with the page.
//   Its size depends on the pages that the read still wants, rounded up to a power of two: 4
//   times as many up to 1/32 of the largest window, twice as many up to 1/4, otherwise the largest.
// - If the read comes to the marker, the next window is read without waiting for it. It is 4
//   times as large as the last one up to 1/16 of the largest window, then twice as large, and at
//   most the largest.
// - Any other absent page is random: only the pages that the read wants are read, and the window
//   stays as it is.
//
// Example with a largest window of 32 pages: a program reads 4 pages after 4 pages. The first read
// makes a window of 8 pages with the marker at page 4. The second one meets the marker, and pages 8
// to 23 are read. At page 8, pages 24 to 55 are read, and so on: windows of 8, 16, 32, 32, ...
// pages.
//
// F. Wu, H. Xi, C. Xu: On the design of a new Linux readahead framework, ACM SIGOPS Operating
// Systems Review 42 (2008).
//
// Left out: traces of other streams in the cache (context read-ahead), markers that another stream
// has left, and the optimal size of a device, up to which Linux reads a long read in one piece.

#include <cstdint>

namespace xylem::predict {

/// Pages `first` to `end` - 1.
struct PageRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;

  bool empty() const { return first >= end; }
  bool operator==(const PageRange&) const = default;
};

/// The window of one stream. A value type; not thread-safe.
///
/// A read asks for each of its pages in order: on_absent() if the page must be read, then in each
/// case on_page(). At its end it calls ended().
class ReadAhead {
 public:
  /// `largest` is the size of the largest window in pages. 0: nothing is read ahead.
  explicit ReadAhead(std::uint64_t largest) : largest_(largest) {}

  /// The pages to read, of which `page` is the first. The read still wants `wanted` pages, `page`
  /// included. The range may go beyond the end of the file.
  PageRange on_absent(std::uint64_t page, std::uint64_t wanted);

  /// The pages to read ahead. Empty unless `page` is the marker.
  PageRange on_page(std::uint64_t page);

  /// A read has ended with `page`.
  void ended(std::uint64_t page) { last_ = page; }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t first_size(std::uint64_t wanted) const;
  std::uint64_t next_size() const;
  PageRange move_on();

  std::uint64_t largest_;
  std::uint64_t last_ = kNone;  ///< kNone + 1 is 0, the first page of the file.
  std::uint64_t start_ = 0, size_ = 0;
  std::uint64_t marker_ = kNone;
};

}  // namespace xylem::predict
