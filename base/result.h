#pragma once

// The result of an operation that may fail: a value, or an error with a code for programs and a
// sentence for people. The members have the same names as those of C++23's std::expected.

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace xylem {

/// The kind of an error, for decisions in code. The message is for people.
enum class Code {
  kInvalidArgument,   ///< The request is wrong; repeating it will not help.
  kNotFound,          ///< A file, host or name does not exist.
  kAlreadyExists,     ///< Something exists already, but must be new.
  kPermissionDenied,  ///< The system forbids it, or the key is wrong.
  kUnavailable,       ///< A peer or resource cannot be reached now; a retry may succeed.
  kExhausted,         ///< A limit is reached: disk, memory, descriptors, a bounded queue.
  kCorrupt,           ///< Bytes that cannot be decoded.
  kTimedOut,          ///< A deadline passed.
  kSuperseded,        ///< Another process has taken over; this one must stop.
  kInternal,          ///< The system refused something that normally works.
};

/// A code and a sentence for people: what failed, on which object, why, and what to do.
struct Error {
  Code code;
  std::string message;
};

/// Wraps an error on its way into a Result: `return unexpected(Error{...})`.
struct Unexpected {
  Error error;
};
inline Unexpected unexpected(Error error) { return Unexpected{std::move(error)}; }
inline Unexpected unexpected(Code code, std::string message) {
  return Unexpected{Error{code, std::move(message)}};
}

/// Either a T or an Error. Calling value() on an error, or error() on a value, is a bug and stops
/// the program. A value type; not thread-safe.
template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTBEGIN(google-explicit-constructor): implicit, so that a function can return a value or
  // unexpected(...) directly.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Unexpected failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}
  // NOLINTEND(google-explicit-constructor)

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & { return *operator->(); }
  const T& value() const& { return *operator->(); }
  T&& value() && { return std::move(*operator->()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return CHECK_NOTNULL(std::get_if<0>(&state_)); }
  const T* operator->() const { return CHECK_NOTNULL(std::get_if<0>(&state_)); }

  Error& error() { return *CHECK_NOTNULL(std::get_if<1>(&state_)); }
  const Error& error() const { return *CHECK_NOTNULL(std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error. Not thread-safe.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): implicit, as in Result<T>.
  Result(Unexpected failure) : error_(std::move(failure.error)), failed_(true) {}

  bool has_value() const noexcept { return !failed_; }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const { CHECK(has_value()); }

  Error& error() { return CHECK(failed_), error_; }
  const Error& error() const { return CHECK(failed_), error_; }

 private:
  Error error_{};
  bool failed_ = false;
};

}  // namespace xylem
