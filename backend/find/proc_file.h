#pragma once

// A small file of the kernel (/proc, /sys) that is read repeatedly.

#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace xylem::backend {

/// The file stays open between reads, since opening costs more than reading. After a failed read,
/// the next read opens it again. Reading such a file does not wait for other processes. Not
/// thread-safe.
class ProcFile {
 public:
  explicit ProcFile(std::string path) : path_(std::move(path)) {}

  /// Reads the present contents into `text`, and reuses the memory of `text`. Returns false when
  /// the file cannot be read or has more than 1 MiB; error() then says why.
  bool read(std::string& text);

  /// Closes the file until the next read.
  void release() { fd_.reset(); }

  const std::string& path() const { return path_; }
  /// errno of the last read; 0 if it succeeded.
  int error() const { return error_; }

 private:
  std::string path_;
  UniqueFd fd_;
  int error_ = 0;
};

/// Reads at most `most` bytes of a file; empty when it cannot be opened.
std::string read_start(const std::string& path, std::size_t max_size);

/// Returns the text of /proc/PID/stat from its third field ("state") on. The second field is a name
/// in parentheses. It may contain any characters, and ends at the last `)` of the text. Returns an
/// empty text if there is no `)`.
std::string_view behind_name(std::string_view stat);

/// Removes the next word from `text` and returns it without blanks; empty at the end.
std::string_view next_word(std::string_view& text);
/// Removes the next line from `text` and returns it without its newline.
std::string_view next_line(std::string_view& text);
/// A decimal number, possibly with a fraction; 0 if `word` does not begin with a number.
double to_double(std::string_view word);

}  // namespace xylem::backend
