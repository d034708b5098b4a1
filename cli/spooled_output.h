#pragma once

// Output to a descriptor whose reader may pause: a pager, a pipe, a slow terminal.
//
// A query reads one state of a run's file for as long as it runs. Meanwhile the log of the file's
// writer grows, since it cannot be restarted. So a query must not wait for the reader of its
// answer:
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

/// A buffer for an ostream. Writing waits only for the disk; if no thread can be started, it waits
/// for the reader. The stream becomes `bad()` once the descriptor or the disk fails. The descriptor
/// is borrowed.
///
/// Order of calls: one thread writes, then calls finish() once, which waits for the reader. The
/// destructor also waits, if finish() was not called.
class SpooledOutput final : public std::streambuf {
 public:
  explicit SpooledOutput(int fd);
  ~SpooledOutput() override;
  SpooledOutput(const SpooledOutput&) = delete;
  SpooledOutput& operator=(const SpooledOutput&) = delete;

  /// Waits until all output is written. Returns "" on success and also if the reader has gone.
  /// Returns a sentence if output was lost, because the temporary file could not be written or
  /// read.
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
