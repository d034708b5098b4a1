#pragma once

// UTF-8 characters in arbitrary bytes.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace xylem {

/// A character and its length in bytes; 0 bytes: not a valid character.
struct Utf8Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

/// The first character of `text`, by the Unicode standard: overlong forms, surrogates, codes beyond
/// U+10FFFF and truncated characters are invalid. `text` must not be empty.
Utf8Character first_character(std::string_view text);

}  // namespace xylem
