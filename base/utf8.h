#pragma once

// Decodes UTF-8 characters from arbitrary bytes.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace xylem {

/// A character and its length in bytes. The length is 0 if the character is not valid.
struct Utf8Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

/// The first character of `text`. As in the Unicode standard, overlong forms, surrogates, codes
/// beyond U+10FFFF and truncated characters are invalid. `text` must not be empty.
Utf8Character first_character(std::string_view text);

}  // namespace xylem
