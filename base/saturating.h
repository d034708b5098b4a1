#pragma once

// Arithmetic on untrusted numbers. If the exact result is outside the type's range, the functions
// return the nearest number that the type has: its minimum or its maximum. No input causes
// undefined behaviour, and no function fails. Callers cannot see whether a result was limited. For
// unsigned types the minimum is 0.
//
//   saturating_subtract<std::uint64_t>(3, 5) == 0
//   saturating_add<std::int8_t>(100, 100) == 127

#include <concepts>
#include <limits>

namespace xylem {

/// The integer part of `value`, rounded towards 0. Infinities give T's maximum or minimum. 0 for
/// NaN.
template <std::integral T>
constexpr T saturating_cast(double value) {
  // As a double, the maximum of T rounds up to a power of two that T cannot represent.
  constexpr auto kMin = static_cast<double>(std::numeric_limits<T>::min());
  constexpr T kHalf = std::numeric_limits<T>::max() / 2 + 1;
  constexpr double kBeyond = 2 * static_cast<double>(kHalf);
  if (value != value) return 0;
  if (value >= kBeyond) return std::numeric_limits<T>::max();
  return value <= kMin ? std::numeric_limits<T>::min() : static_cast<T>(value);
}

/// a + b. T's maximum if the sum is too large, T's minimum if it is too small.
template <std::integral T>
constexpr T saturating_add(T a, T b) {
  T sum{};
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

/// a - b. T's maximum if the difference is too large, T's minimum if it is too small.
template <std::integral T>
constexpr T saturating_subtract(T a, T b) {
  T difference{};
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b > 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

/// a * b. T's maximum if the product is too large, T's minimum if it is too small.
template <std::integral T>
constexpr T saturating_multiply(T a, T b) {
  T product{};
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
}

}  // namespace xylem
