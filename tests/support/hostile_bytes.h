#pragma once

// What a decoder must live through, made from bytes that it takes: cut short, damaged, mixed up.

#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace xylem::testing {

/// Calls `take` with a copy of `bytes` for each of their bits, that one bit changed.
template <typename Take>
void with_each_bit_flipped(std::vector<std::byte> bytes, const Take& take) {
  for (std::byte& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte ^= std::byte{1} << bit;
      take(std::span<const std::byte>(bytes));
      byte ^= std::byte{1} << bit;
    }
  }
}

/// A copy of `bytes` after one to eight random injuries: a byte or a whole word set to something
/// (preferring the extremes), a stretch copied over another, the end cut off or grown.
template <typename Random>
std::vector<std::byte> injured(std::span<const std::byte> whole, Random& random) {
  std::vector<std::byte> bytes(whole.begin(), whole.end());
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t left = 1 + below(8); left > 0; --left) {
    if (bytes.empty()) bytes.push_back(std::byte{0});
    const std::size_t at = below(bytes.size());
    const auto extreme = below(2) == 0 ? std::byte{0xff} : std::byte(below(256));
    switch (below(6)) {
      case 0:
      case 1:
        bytes[at] = extreme;
        break;
      case 2:
        bytes[at] ^= std::byte{1} << below(8);
        break;
      case 3:  // One 8-byte word becomes another of the same bytes: pointers that lead astray.
        for (std::size_t i = 0, from = below(bytes.size()) & ~std::size_t{7}; i < 8; ++i) {
          const std::size_t to = (at & ~std::size_t{7}) + i;
          if (to < bytes.size() && from + i < bytes.size()) bytes[to] = bytes[from + i];
        }
        break;
      case 4:
        bytes.resize(at + (below(2) == 0 ? 1 : 0));
        break;
      default:
        bytes.insert(bytes.end(), 8 * (1 + below(4)), extreme);
    }
  }
  return bytes;
}

}  // namespace xylem::testing
