#pragma once

// Makes choices from a fuzzer's bytes. A choice takes one to three bytes. After the last byte all
// bytes are zero.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace xylem::testing {

/// Borrows the bytes.
class ByteSource {
 public:
  ByteSource(const std::uint8_t* bytes, std::size_t size) : left_(bytes, size) {}

  bool is_empty() const { return left_.empty(); }
  std::uint8_t byte() {
    if (left_.empty()) return 0;
    const std::uint8_t first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }
  /// Returns a number from 0 to n - 1; n is from 1 to 256.
  std::size_t below(std::size_t n) { return byte() % n; }
  bool coin() { return (byte() & 1) != 0; }
  template <typename T, std::size_t N>
  T one_of(const std::array<T, N>& choices) {
    return choices[below(N)];
  }
  /// Returns mostly small numbers, so that equal numbers occur often. Sometimes returns a limit of
  /// the type, a power of two, or a number of two bytes.
  template <typename T>
  T number() {
    using Limits = std::numeric_limits<T>;
    const std::uint8_t first = byte();
    switch (first) {
      case 255:
        return Limits::max();
      case 254:
        return Limits::min();
      case 253:
        return static_cast<T>(Limits::max() - 1);
      case 252:
        return static_cast<T>(Limits::max() / 2 + 1);
      case 251:
        return static_cast<T>(T{1} << (byte() % (8 * sizeof(T) - 1)));
      case 250:
        return static_cast<T>(byte() << 8 | byte());
      default:
        return static_cast<T>(first % 16);
    }
  }
  /// Returns the next `size` bytes, or all remaining bytes if there are fewer.
  std::span<const std::uint8_t> take(std::size_t size) {
    const auto taken = left_.first(size < left_.size() ? size : left_.size());
    left_ = left_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const std::uint8_t> left_;
};

}  // namespace xylem::testing
