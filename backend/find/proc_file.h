#pragma once

// A small file of the kernel (/proc, /sys) that is read again and again.

#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace xylem::backend {

/// Kept open: opening costs more than reading. Never blocks, as files of the kernel do not. One
/// thread. When reading fails the file is opened anew with the next read.
class ProcFile {
 public:
  explicit ProcFile(std::string path) : path_(std::move(path)) {}

  /// The file as it is now, put into `text`, which keeps its room. False when there is none or it
  /// must not be read: error() says which. At most 1 MiB.
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

/// Reads what can be read of a file, `most` bytes at most; empty when it cannot be opened.
std::string read_start(const std::string& path, std::size_t most);

/// The fields of a text like /proc/PID/stat from the third on, "state": the name before them may
/// hold anything. Empty when there are none.
std::string_view behind_name(std::string_view stat);

/// Takes the next word off `text`, without blanks; empty at the end.
std::string_view next_word(std::string_view& text);
/// Takes the next line off `text`, without its end.
std::string_view next_line(std::string_view& text);
/// A decimal number, with a fraction if it has one; 0 for what is none.
double to_double(std::string_view word);

}  // namespace xylem::backend
