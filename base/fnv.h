#pragma once

// The hash FNV-1a, for small values. Do not use it where someone could choose the input so that
// values collide.

#include <cstdint>

namespace xylem {

/// A value type; not thread-safe.
class Fnv1a {
 public:
  /// Hashes with different `variant` are independent enough to be used together.
  explicit constexpr Fnv1a(std::uint64_t variant = 0) : value_(1469598103934665603u + variant) {}
  constexpr void add(std::uint8_t byte) { value_ = (value_ ^ byte) * 1099511628211u; }
  constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_;
};

}  // namespace xylem
