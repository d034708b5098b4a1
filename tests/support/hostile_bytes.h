#pragma once

// Makes damaged input for decoders from valid bytes: truncated, changed, rearranged.

#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace xylem::testing {

/// Calls `take` once for each bit of `bytes`, with this bit changed.
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

/// Returns a copy of the bytes with one to eight random changes. A change sets a byte to a random
/// value or to 0xff, changes a bit, or copies an 8-byte word over another. It may also cut off the
/// end or extend it.
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
      case 3:  // Copies one 8-byte word over another, so that pointers lead to wrong places.
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
