#include "base/printable_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/utf8.h"

namespace xylem {
namespace {

using Range = std::pair<std::uint32_t, std::uint32_t>;

/// Control characters, direction marks, joiners, line separators, and code points that are not
/// characters.
constexpr std::array kHidden = {
    Range{0x00, 0x1f},     Range{0x7f, 0x9f},     Range{0xad, 0xad},     Range{0x61c, 0x61c},
    Range{0x180e, 0x180e}, Range{0x200b, 0x200f}, Range{0x2028, 0x202e}, Range{0x2060, 0x206f},
    Range{0xfeff, 0xfeff}, Range{0xfff0, 0xfffb}, Range{0xfffe, 0xffff}, Range{0xe0000, 0xe0fff},
};

bool is_hidden(std::uint32_t code) {
  return std::ranges::any_of(
      kHidden, [code](const Range& r) { return code >= r.first && code <= r.second; });
}

std::string escape_of(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  return code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character next = first_character(text);
    if (next.bytes == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    if (is_hidden(next.code)) {
      shown += escape_of(next.code);
    } else {
      shown += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes);
  }
  return shown;
}

}  // namespace xylem
