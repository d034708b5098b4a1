#pragma once

// Functions for the built-in aggregations: error messages, reading of states that peers have sent,
// and arithmetic with numbers of any type.

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/result.h"
#include "wire/fields.h"

namespace xylem::filters::internal {

/// Returns the error kInvalidArgument with the text "FILTER: WHY".
Unexpected refused(std::string_view filter, const std::string& why);

/// Returns the error "FILTER: field N is TYPE; it takes WHAT". If `found` is nullptr, the message
/// says that the field is missing.
Unexpected not_taken(std::string_view filter, wire::FieldNumber number,
                     const wire::FieldValue* found, std::string_view what);

/// Fails if a parameter has a number that is not in `known`.
Result<void> only_parameters(std::string_view filter, const wire::Fields& parameters,
                             std::initializer_list<wire::FieldNumber> known);

/// Reads a state, which may be invalid. The first error is kept. get() returns an empty value if
/// the field is missing or has another type. Borrows the state; not thread-safe.
class StateReader {
 public:
  StateReader(std::string_view filter, const wire::Fields& state)
      : filter_(filter), state_(state) {}

  template <typename T>
  const T& get(wire::FieldNumber number) {
    static const T kNone{};
    const T* value = state_.find_as<T>(number);
    if (value == nullptr) note(number, wire::FieldValue(kNone));
    return value == nullptr ? kNone : *value;
  }
  void require(bool condition, const char* fault) {
    if (!condition && fault_.empty()) fault_ = fault;
  }

  explicit operator bool() const { return fault_.empty(); }
  Unexpected error() const;

 private:
  void note(wire::FieldNumber number, const wire::FieldValue& wanted);

  std::string_view filter_;
  const wire::Fields& state_;
  std::string fault_;
};

template <typename T>
bool is_nan(T number) {
  return std::isnan(static_cast<double>(number));  // False for every integer.
}

/// Returns `value`, but the same NaN for every NaN. So results do not depend on the order of
/// merging.
inline double canonical(double value) {
  return value != value ? std::numeric_limits<double>::quiet_NaN() : value;
}
inline std::int64_t canonical(std::int64_t value) { return value; }
inline std::uint64_t canonical(std::uint64_t value) { return value; }

/// Returns the sum. Integer sums wrap modulo 2^64: so the sum does not depend on the order of
/// merging.
inline std::int64_t add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::uint64_t add(std::uint64_t a, std::uint64_t b) { return a + b; }
inline double add(double a, double b) { return canonical(a + b); }

template <typename T>
T least(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
T greatest(T a, T b) {
  return a < b ? b : a;
}
/// Returns the smaller number. -0 is less than +0, and if an argument is NaN, the result is NaN. So
/// the result does not depend on the order of the arguments.
inline double least(double a, double b) {
  if (a != a || b != b) return canonical(a + b);
  if (a == b) return std::signbit(a) ? a : b;
  return b < a ? b : a;
}
inline double greatest(double a, double b) {
  if (a != a || b != b) return canonical(a + b);
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

template <typename T>
constexpr bool kIsNumber = std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t> ||
                           std::is_same_v<T, double>;

constexpr std::string_view kNumbers = "int64, uint64, float64 and arrays of them";

/// Calls `take` with a `span<const T>`. For a number the span has one element, for an array all
/// elements. Returns false if the value is neither a number nor an array of numbers.
template <typename Take>
bool take_numbers(const wire::FieldValue& value, const Take& take) {
  return std::visit(
      [&]<typename T>(const T& held) {
        if constexpr (kIsNumber<T>) {
          take(std::span<const T>(&held, 1));
          return true;
        } else if constexpr (requires { typename T::value_type; }) {
          if constexpr (kIsNumber<typename T::value_type>) {
            take(std::span<const typename T::value_type>(held));
            return true;
          }
          return false;
        } else {
          return false;
        }
      },
      value);
}

}  // namespace xylem::filters::internal
