#pragma once

// A small file of the kernel (/proc, /sys) that is read repeatedly.

#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace xylem::backend {

/// Stays open between reads, since opening costs more than reading. Never blocks, because files of
/// the kernel do not. One thread. After a failed read the next read opens the file again.
class ProcFile {
 public:
  explicit ProcFile(std::string path) : path_(std::move(path)) {}

  /// Reads the present contents into `text`, at most 1 MiB, and reuses its memory. False when the
  /// file does not exist or may not be read: error() says which.
  bool read(std::string& text);

  /// Closes it until the next read.
  void release() { fd_.reset(); }

  const std::string& path() const { return path_; }
  /// errno of the last read; 0 after a good one.
  int error() const { return error_; }

 private:
  std::string path_;
  UniqueFd fd_;
  int error_ = 0;
};

/// Reads at most `most` bytes of a file; empty when it cannot be opened.
std::string read_start(const std::string& path, std::size_t most);

/// The fields of a text like /proc/PID/stat from the third on, "state": the name before them may
/// contain any characters. Empty if there are none.
std::string_view behind_name(std::string_view stat);

/// Takes the next word off `text`, without blanks; empty at the end.
std::string_view next_word(std::string_view& text);
/// Takes the next line off `text`, without its end.
std::string_view next_line(std::string_view& text);
/// A decimal number, possibly with a fraction; 0 if `word` is not a number.
double to_double(std::string_view word);

}  // namespace xylem::backend
