#pragma once

// Short texts on the stack, for example paths and environment lines. If a text does not fit, fits()
// returns false.

#include <cstddef>
#include <cstdint>

namespace xylem::capture {

/// A text of at most N - 1 characters, with a terminating zero. Not thread-safe.
template <std::size_t N>
class Text {
 public:
  Text() { at_[0] = 0; }

  Text& add(const char* from) noexcept {
    for (; from != nullptr && *from != 0; ++from) add(*from);
    return *this;
  }
  Text& add(char one) noexcept {
    if (length_ + 1 >= N) {
      fits_ = false;
    } else {
      at_[length_++] = one;
      at_[length_] = 0;
    }
    return *this;
  }
  /// Adds a decimal number, with leading zeros up to `width` digits.
  Text& add_number(std::uint64_t number, unsigned width = 1) noexcept {
    char digits[20];
    unsigned count = 0;
    for (; number != 0 || count < width; number /= 10)
      digits[count++] = static_cast<char>('0' + number % 10);
    while (count > 0) add(digits[--count]);
    return *this;
  }

  void clear() noexcept {
    at_[0] = 0;
    length_ = 0;
    fits_ = true;
  }

  const char* c_str() const noexcept { return at_; }
  char* begin() noexcept { return at_; }
  std::size_t size() const noexcept { return length_; }
  bool fits() const noexcept { return fits_; }

 private:
  char at_[N];
  std::size_t length_ = 0;
  bool fits_ = true;
};

/// Reads a decimal number at `*from` and moves `*from` behind the number. Returns false if there is
/// no number, or if the number is larger than 2^32 - 1.
bool read_number(const char** from, std::uint32_t* number) noexcept;

/// Returns whether `other` consists of the first `length` characters of `text`.
bool equals(const char* text, std::size_t length, const char* other) noexcept;

}  // namespace xylem::capture
