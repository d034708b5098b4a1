#pragma once

// Output onto a descriptor whose reader may pause: a pager, a pipe, a slow terminal.
//
// A query reads one state of a run's file for as long as it runs. Meanwhile the writer's log cannot
// be restarted and grows. So no query may wait for the reader of its answer:
//
//   question -> 64 KiB | memory, up to 1 MiB | unlinked file in $TMPDIR | thread -> descriptor
//                        (while no file is needed)                          (may block)

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <streambuf>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace xylem {

/// A buffer of an ostream. Writers wait only for the disk; the stream fails (is `bad()`) once the
/// descriptor or the disk does. The descriptor is borrowed.
///
/// Order: writes, by one thread; then finish() once, which waits for the reader. Destroyed without
/// finish(), as after a failure, it waits too.
class SpooledOutput final : public std::streambuf {
 public:
  explicit SpooledOutput(int fd);
  ~SpooledOutput() override;
  SpooledOutput(const SpooledOutput&) = delete;
  SpooledOutput& operator=(const SpooledOutput&) = delete;

  /// Waits until all is written. Returns "", or a sentence when something is not: there is no room
  /// for what the reader has not taken. That the reader has gone is no failure.
  std::string finish();

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  bool hand_over();
  bool spool(const std::string& piece);
  std::string take_spooled();
  void write_all();
  void stop();

  const int fd_;
  std::string piece_;  // The put area.
  std::mutex mutex_;   // Of all below.
  std::condition_variable changed_;
  std::deque<std::string> waiting_;  // Before what is spooled.
  std::size_t waiting_bytes_ = 0;
  UniqueFd spool_;
  std::uint64_t spool_begin_ = 0;  // What lies between is to be written.
  std::uint64_t spool_end_ = 0;
  bool is_over_ = false;     // Nothing more is written to this buffer.
  bool has_failed_ = false;  // Nothing more can be written to the descriptor.
  std::string failure_;      // Why something was not spooled.
  std::thread writer_;       // Last: it uses all of the above.
};

}  // namespace xylem
