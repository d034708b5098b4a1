#pragma once

// What is mapped in this process.

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "capture/core/text_internal.h"

namespace xylem::capture {

/// A line of /proc/self/maps.
struct MappedRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  ///< 0: no file.
  const char* path = "";    ///< Cut if the line did not fit. Valid as long as the line.

  bool holds(std::uintptr_t at) const noexcept { return begin <= at && at < end; }
  bool is_same_file(const MappedRange& other) const noexcept {
    return inode != 0 && inode == other.inode && device == other.device;
  }
};

/// Parses a line such as "7f12-7f34 r-xp 00000000 08:01 1234   /usr/lib/libmpi.so.40".
MappedRange parse_mapping(const char* line) noexcept;

/// Visits the process's mappings until `visit` returns true. Returns false if `visit` never
/// returned true, or if there is no /proc. `line` is the memory for a line; a longer line is cut.
/// Takes no locks and allocates nothing, so signal handlers may call it. Keeps errno.
template <std::size_t N, class Visit>
bool any_mapping(Text<N>& line, Visit visit) noexcept {
  const int before = errno;
  const auto fd =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0));
  if (fd < 0) {
    errno = before;
    return false;
  }
  char piece[2048];
  bool found = false;
  line.clear();
  for (;;) {
    const long length = syscall(SYS_read, fd, piece, sizeof piece);
    if (length <= 0) break;
    for (long i = 0; i < length && !found; ++i) {
      if (piece[i] != '\n') {
        line.add(piece[i]);
        continue;
      }
      found = visit(parse_mapping(line.c_str()));
      if (!found) line.clear();
    }
    if (found) break;
  }
  syscall(SYS_close, fd);
  errno = before;
  return found;
}

/// Writes a definition of each program and library whose code is loaded, with its build id. The
/// agent needs them to tell where calls come from. The dynamic loader's lock is held meanwhile. If
/// another thread is in this function, does nothing.
void define_mapped_files() noexcept;

}  // namespace xylem::capture
