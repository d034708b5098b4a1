#pragma once

// What the library asks of the system, in forms that every C library since 2.17 has.
//
// The library is loaded into programs of many systems, and one symbol with a version that the C
// library does not know keeps the whole program from starting. So what came later is a system call
// here (memfd_create, getrandom), and what moved from one library to another (dlsym was libdl's,
// pthread_key_create libpthread's until 2.34) is a weak reference to its old version: null in a
// process that has not loaded that library. tests/unit/capture/tables_test.py reads the built
// object and fails when a newer version is needed.

#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace xylem::capture {

/// As dlsym; null also where the process has no dynamic loader to ask.
void* find_symbol(void* where, const char* name) noexcept;
/// As dlopen with RTLD_LAZY | RTLD_NOLOAD: gives what is loaded already and loads nothing.
void* find_loaded(const char* name) noexcept;

/// Calls `end` with `value` when the calling thread ends. False where the process has no threads.
bool watch_thread(void (*end)(void*), void* value) noexcept;

/// As memfd_create with MFD_CLOEXEC | MFD_ALLOW_SEALING.
int make_memory_file(const char* name) noexcept;

/// As ftruncate, but never kills: beyond RLIMIT_FSIZE it fails with EFBIG, without SIGXFSZ.
bool set_file_size(int fd, std::uint64_t bytes) noexcept;

/// Random bytes; where the system has none to give, bytes that differ between processes.
void fill_random(void* into, std::size_t bytes) noexcept;

/// Overwrites what the compiler may believe nobody reads again.
void wipe(void* at, std::size_t bytes) noexcept;

/// Reads a file from its start into `into` and ends it with a zero. Gives the bytes read, at most
/// room - 1; 0 when it cannot be read.
std::size_t read_file(const char* path, char* into, std::size_t room) noexcept;

/// As fstat, lstat and stat.
int stat_of(int fd, struct stat& found) noexcept;
int stat_of_link(const char* path, struct stat& found) noexcept;
int stat_of_file(const char* path, struct stat& found) noexcept;

/// What an errno means, in English, without the C library's tables and locales.
const char* error_text(int error) noexcept;

/// No signal handler of the application runs in this thread while one of these lives.
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
