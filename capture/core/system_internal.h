#pragma once

// The capture library's calls to the system. They work with every glibc since 2.17.
//
// The library is loaded into programs on many systems. If it needs a symbol version that the
// system's C library does not have, the program cannot start. Functions that are newer than glibc
// 2.17, such as memfd_create, are system calls here. Some functions moved to another library in
// 2.34: dlsym from libdl, and pthread_key_create from libpthread. These are weak references to the
// old versions. Such a reference is null in a process that has not loaded the old library.
// tests/unit/capture/tables_test.py reads the built library and fails if the library needs a newer
// version.

#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace xylem::capture {

/// Like dlsym, but returns null if the process has no dynamic loader.
void* find_symbol(void* where, const char* name) noexcept;
/// Like dlopen with RTLD_LAZY | RTLD_NOLOAD: finds a library that is already loaded, and loads
/// nothing.
void* find_loaded(const char* name) noexcept;
/// Gives a library back that find_loaded() has found. Otherwise it stays loaded.
void release_loaded(void* library) noexcept;
/// Path of the program or library with the code at `address`, as the loader has it; null if there
/// is none.
const char* path_of_code(const void* address) noexcept;

/// Offset, from a thread's pointer, of the 32-bit number of the processor on which the thread runs.
/// The kernel keeps it up to date (rseq). Returns 0 if the C library is older than 2.35, or has not
/// registered it.
std::ptrdiff_t find_cpu() noexcept;

/// Makes the calling thread call `end` with `value` when the thread ends. `end` must be the same in
/// every call. If `value` is null, only prepares this. Returns false if the process cannot have
/// threads or has no key left.
bool watch_thread(void (*end)(void*), void* value) noexcept;

/// Like memfd_create with MFD_CLOEXEC | MFD_ALLOW_SEALING.
int make_memory_file(const char* name) noexcept;

/// Like ftruncate, but without SIGXFSZ: for a size above RLIMIT_FSIZE it fails with EFBIG.
bool set_file_size(int fd, std::uint64_t bytes) noexcept;

/// Writes random bytes. If the system has no random bytes, writes bytes that differ between
/// processes.
void fill_random(void* into, std::size_t bytes) noexcept;

/// Takes zeroed memory from the kernel. The caller gives it back by munmap() or keeps it. Returns
/// null if there is no memory.
void* take_memory(std::size_t bytes) noexcept;

/// Sleeps for about `micros` < 1,000,000. A signal may end the sleep earlier. Keeps errno. Unlike
/// nanosleep(), it is not a cancellation point.
void rest(std::uint32_t micros) noexcept;

/// Overwrites memory with zeros. The compiler cannot remove this call, even if nothing reads the
/// memory again.
void wipe(void* at, std::size_t bytes) noexcept;

/// Reads a file from its start into `into` and adds a zero. Returns the number of bytes read, at
/// most room - 1; 0 if the file cannot be read.
std::size_t read_file(const char* path, char* into, std::size_t room) noexcept;

/// Like fstat, lstat and stat.
int stat_of(int fd, struct stat& found) noexcept;
int stat_of_link(const char* path, struct stat& found) noexcept;
int stat_of_file(const char* path, struct stat& found) noexcept;

/// The English meaning of an errno. It does not use the C library's tables and locales.
const char* error_text(int error) noexcept;

/// While an object of this class lives, no signal handler of the application runs in this thread.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace xylem::capture
