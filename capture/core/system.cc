#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/core/system_internal.h"

// The versions of these functions in the first libraries that had them. Newer C libraries keep
// these versions.
#if defined(__x86_64__)
#define XYLEM_FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define XYLEM_FIRST_VERSION "GLIBC_2.17"
#endif
#define XYLEM_OLD(function)                                             \
  __asm__(".symver " #function ", " #function "@" XYLEM_FIRST_VERSION); \
  extern "C" __attribute__((weak)) decltype(function) function

XYLEM_OLD(dlsym);
XYLEM_OLD(dlopen);
XYLEM_OLD(dlclose);
XYLEM_OLD(dladdr);
XYLEM_OLD(pthread_key_create);
XYLEM_OLD(pthread_setspecific);

namespace xylem::capture {
namespace {

constexpr unsigned kMemfdFlags = 3;  // MFD_CLOEXEC | MFD_ALLOW_SEALING, unknown to old headers.

std::uint64_t mixed_with_time(std::uint64_t seed) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  seed ^= static_cast<std::uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15u;
  seed ^= static_cast<std::uint64_t>(now.tv_sec) << 32 ^ static_cast<std::uint64_t>(getpid());
  return seed * 0xff51afd7ed558ccdu;
}

int stat_at(int folder, const char* path, struct stat& found, int flags) {
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, &found, flags));
}

}  // namespace

void* find_symbol(void* where, const char* name) noexcept {
  return &dlsym == nullptr ? nullptr : dlsym(where, name);
}

void* find_loaded(const char* name) noexcept {
  return &dlopen == nullptr ? nullptr : dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

void release_loaded(void* library) noexcept {
  if (&dlclose != nullptr && library != nullptr) dlclose(library);
}

const char* path_of_code(const void* address) noexcept {
  Dl_info of{};
  return &dladdr != nullptr && dladdr(address, &of) != 0 ? of.dli_fname : nullptr;
}

std::ptrdiff_t find_cpu() noexcept {
  constexpr std::ptrdiff_t kCpuId = 4;  // Offset of cpu_id in struct rseq.
  const auto* offset =
      static_cast<const std::ptrdiff_t*>(find_symbol(RTLD_DEFAULT, "__rseq_offset"));
  const auto* size = static_cast<const unsigned*>(find_symbol(RTLD_DEFAULT, "__rseq_size"));
  return offset == nullptr || size == nullptr || *size == 0 ? 0 : *offset + kCpuId;
}

bool watch_thread(void (*end)(void*), void* value) noexcept {
  // Static, because a process needs only one key, and each thread must set its value with this key.
  static pthread_key_t key;
  static int made = -1;  // 0: the key exists. start() makes the first call, and only in one thread.
  if (&pthread_key_create == nullptr || &pthread_setspecific == nullptr) return false;
  if (made < 0) made = pthread_key_create(&key, end);
  if (made != 0) return false;
  return value == nullptr || pthread_setspecific(key, value) == 0;
}

int make_memory_file(const char* name) noexcept {
  return static_cast<int>(syscall(SYS_memfd_create, name, kMemfdFlags));
}

bool set_file_size(int fd, std::uint64_t bytes) noexcept {
  const SignalsBlocked blocked;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0) return true;
  const int error = errno;
  if (error == EFBIG) {
    // The kernel has sent SIGXFSZ to this thread, where it is pending. This takes it away.
    sigset_t too_large;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    const timespec now{0, 0};
    while (sigtimedwait(&too_large, nullptr, &now) == SIGXFSZ) {
    }
  }
  errno = error;
  return false;
}

void fill_random(void* into, std::size_t bytes) noexcept {
  if (syscall(SYS_getrandom, into, bytes, 0) == static_cast<long>(bytes)) return;
  auto* at = static_cast<unsigned char*>(into);
  std::uint64_t seed = reinterpret_cast<std::uintptr_t>(into);
  for (std::size_t i = 0; i < bytes; ++i) {
    seed = mixed_with_time(seed);
    at[i] = static_cast<unsigned char>(seed >> 56);
  }
}

void rest(std::uint32_t micros) noexcept {
  const int before = errno;
  const timespec time{0, static_cast<long>(micros) * 1000};
  syscall(SYS_nanosleep, &time, nullptr);
  errno = before;
}

void* take_memory(std::size_t bytes) noexcept {
  const int before = errno;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  errno = before;
  return memory == MAP_FAILED ? nullptr : memory;
}

void wipe(void* at, std::size_t bytes) noexcept {
  memset(at, 0, bytes);
  __asm__ volatile("" : : "r"(at) : "memory");
}

std::size_t read_file(const char* path, char* into, std::size_t room) noexcept {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::size_t length = 0;
  while (length + 1 < room) {
    const ssize_t more = read(fd, into + length, room - 1 - length);
    if (more <= 0) break;
    length += static_cast<std::size_t>(more);
  }
  close(fd);
  into[length] = 0;
  return length;
}

int stat_of(int fd, struct stat& found) noexcept { return stat_at(fd, "", found, AT_EMPTY_PATH); }
int stat_of_link(const char* path, struct stat& found) noexcept {
  return stat_at(AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}
int stat_of_file(const char* path, struct stat& found) noexcept {
  return stat_at(AT_FDCWD, path, found, 0);
}

const char* error_text(int error) noexcept {
  switch (error) {
    case EPERM:
      return "not permitted";
    case ENOENT:
      return "no such file or folder";
    case EINTR:
      return "interrupted";
    case EIO:
      return "input/output error";
    case EAGAIN:
      return "not enough of a resource for now";
    case ENOMEM:
      return "no memory";
    case EACCES:
      return "permission denied";
    case EEXIST:
      return "it exists already";
    case ENOTDIR:
      return "not a folder";
    case EINVAL:
      return "the system does not know this request";
    case ENFILE:
      return "the system has too many open files";
    case EMFILE:
      return "the process has too many open files (ulimit -n)";
    case EFBIG:
      return "the file size limit (ulimit -f) is too small";
    case ENOSPC:
      return "no space left";
    case EROFS:
      return "a read-only file system";
    case ENOSYS:
      return "the system does not have this";
    case ENOTCONN:
      return "not connected";
    case ECONNREFUSED:
      return "nobody listens";
    case ETIMEDOUT:
      return "not within 5 s";
    default:
      return "it failed";
  }
}

SignalsBlocked::SignalsBlocked() noexcept {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before_);
}
SignalsBlocked::~SignalsBlocked() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace xylem::capture
