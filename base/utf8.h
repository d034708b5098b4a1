#pragma once

// Characters of UTF-8 in bytes that may be anything.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace xylem {

/// A character and how many bytes it takes; no bytes: there is none.
struct Utf8Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

/// The character with which `text` begins, as the Unicode standard has UTF-8: overlong forms,
/// surrogates and codes beyond U+10FFFF are none, nor is a character that is cut. `text` is not
/// empty.
Utf8Character first_character(std::string_view text);

}  // namespace xylem
