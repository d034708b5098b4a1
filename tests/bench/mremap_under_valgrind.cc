// The mremap of bench_collector, in place of the C library's. valgrind refuses to double a shared
// mapping (an old size of none), which is how an agent maps a ring. Under valgrind this maps the
// memory again from its descriptor, which must still be open. Otherwise it only passes the call on;
// MREMAP_FIXED is not supported.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

/// The inode of the file that is mapped at that address; 0 when there is none.
ino_t file_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0;
    std::uintptr_t end = 0;
    unsigned long inode = 0;
    const int found = std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %lu", &first,
                                  &end, &inode);
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    if (found == 3 && first <= wanted && wanted < end) return inode;
  }
  return 0;
}

void* map_again(const void* address, std::size_t size) {
  const ino_t file = file_at(address);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    struct stat found {};
    if (file != 0 && ::fstat(fd, &found) == 0 && found.st_ino == file) {
      return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
  }
  errno = EINVAL;
  return MAP_FAILED;
}

}  // namespace

extern "C" void* mremap(void* addr, std::size_t old_len, std::size_t new_len, int flags,
                        ...) noexcept {
  if (old_len == 0 && RUNNING_ON_VALGRIND) return map_again(addr, new_len);
  return reinterpret_cast<void*>(::syscall(SYS_mremap, addr, old_len, new_len, flags, nullptr));
}
