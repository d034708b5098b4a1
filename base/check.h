#pragma once

// CHECK stops the program on a bug, in release builds too. Input must never cause a failed CHECK:
// errors that a peer, a file or a person can cause are returned as a Result.

namespace xylem::internal {

/// Prints `file:line: check failed: what` to standard error and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* what) noexcept;

template <typename T>
T* check_notnull(T* pointer, const char* file, int line, const char* what) {
  if (pointer == nullptr) check_failed(file, line, what);
  return pointer;
}

}  // namespace xylem::internal

#define CHECK(condition)              \
  ((condition) ? static_cast<void>(0) \
               : ::xylem::internal::check_failed(__FILE__, __LINE__, #condition))

#define CHECK_NOTNULL(pointer) \
  ::xylem::internal::check_notnull((pointer), __FILE__, __LINE__, #pointer " is not null")
