#pragma once

// Output to a descriptor whose reader may pause: a pager, a pipe, a slow terminal.
//
// A query reads one state of a run's file for as long as it runs. Meanwhile SQLite cannot restart
// the log of the file, so the log grows. So a query must not wait for the reader of its answer:
//
//   question -> 64 KiB | memory, up to 1 MiB | unlinked file in $TMPDIR | thread -> descriptor
//                        (while no file is needed)                          (may block)

#include <cstddef>
#include <cstdint>
#include <deque>
#include <streambuf>
#include <string>
#include <thread>

#include "base/shared_state.h"
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

  /// Waits until all output is written. Returns "" on success, and also if the reader has gone.
  /// Returns a sentence if output was lost, because the temporary file could not be written or
  /// read.
  std::string finish();

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  // Text on its way from the stream's user to the thread that writes it.
  struct Queue {
    bool is_empty() const { return in_memory.empty() && file_begin == file_end; }
    // Returns false if the piece could be kept neither in memory nor in the file; `failure` says
    // why.
    bool put(std::string piece);
    // The next piece; the queue must not be empty.
    std::string take();

    std::deque<std::string> in_memory;  // Text to be written before the text in the file.
    std::size_t bytes_in_memory = 0;
    UniqueFd file;
    std::uint64_t file_begin = 0;  // The file's bytes from here to `file_end` are still to be
                                   // written.
    std::uint64_t file_end = 0;
    bool is_over = false;     // Nothing more is written to this buffer.
    bool has_failed = false;  // Nothing more can be written to the descriptor.
    std::string failure;      // Why something was lost.

   private:
    bool put_into_file(const std::string& piece);
    std::string take_from_file();
  };

  bool hand_over();
  void write_all();
  void stop();

  const int fd_;
  std::string piece_;  // The put area.
  SharedState<Queue> queue_;
  std::thread writer_;  // The last member, because it uses all members above.
};

}  // namespace xylem
