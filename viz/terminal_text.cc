#include "viz/terminal_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/utf8.h"

namespace xylem::viz {
namespace {

using Range = std::pair<std::uint32_t, std::uint32_t>;

template <std::size_t kCount>
bool is_in(const std::array<Range, kCount>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [code](const Range& r) { return code >= r.first && code <= r.second; });
}

// Controls, what combines with the character before it, joiners, marks of direction, private use.
// Combining marks are rare in names of hosts and functions, and a wrong width would damage the
// whole screen.
constexpr std::array kUnfit = {
    Range{0x00, 0x1f},        Range{0x7f, 0x9f},     Range{0xad, 0xad},     Range{0x300, 0x36f},
    Range{0x483, 0x489},      Range{0x590, 0x1cff},  Range{0x200b, 0x200f}, Range{0x2028, 0x202e},
    Range{0x2060, 0x206f},    Range{0x20d0, 0x20ff}, Range{0xd800, 0xf8ff}, Range{0xfe00, 0xfe2f},
    Range{0xfeff, 0xfeff},    Range{0xfff0, 0xfffc}, Range{0xfffe, 0xffff}, Range{0x1f3fb, 0x1f3ff},
    Range{0xe0000, 0x10ffff},
};
constexpr std::array kWide = {
    Range{0x2e80, 0x303e},   Range{0x3041, 0xa4cf},   Range{0xac00, 0xd7a3},
    Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},
    Range{0xffe0, 0xffe6},   Range{0x1f300, 0x1f64f}, Range{0x1f680, 0x1f6ff},
    Range{0x1f900, 0x1f9ff}, Range{0x20000, 0x3fffd},
};

std::size_t cells_of(std::uint32_t code) { return is_in(kWide, code) ? 2 : 1; }

/// Returns the longest beginning of the text that fits into `width` cells.
std::string_view begin_of(std::string_view text, std::size_t width) {
  std::size_t bytes = 0, used = 0;
  while (bytes < text.size()) {
    const Utf8Character next = first_character(text.substr(bytes));
    const std::size_t wide = next.bytes == 0 ? 1 : cells_of(next.code);
    if (used + wide > width) break;
    used += wide;
    bytes += std::max<std::size_t>(next.bytes, 1);
  }
  return text.substr(0, bytes);
}

const char* sequence(Look look, bool colors) {
  switch (look) {
    case Look::kPlain:
      return "";
    case Look::kTitle:
      return "\x1b[7m";
    case Look::kStrong:
      return "\x1b[1m";
    case Look::kFaint:
      return "\x1b[2m";
    case Look::kGood:
      return colors ? "\x1b[32m" : "";
    case Look::kBad:
      return colors ? "\x1b[1;31m" : "\x1b[1m";
    case Look::kBar:
      return colors ? "\x1b[36m" : "";
  }
  return "";
}

}  // namespace

std::string printable(std::string_view text, bool utf8) {
  std::string out;
  while (!text.empty()) {
    const Utf8Character next = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    const bool fits = next.bytes != 0 && !is_in(kUnfit, next.code) && (utf8 || next.code < 0x80);
    out += fits ? std::string(text.substr(0, bytes)) : "?";
    text.remove_prefix(bytes);
  }
  return out;
}

std::size_t cells(std::string_view text) {
  std::size_t sum = 0;
  while (!text.empty()) {
    const Utf8Character next = first_character(text);
    sum += next.bytes == 0 ? 1 : cells_of(next.code);
    text.remove_prefix(std::max<std::size_t>(next.bytes, 1));
  }
  return sum;
}

std::string padded(std::string_view text, std::size_t width, bool utf8, Align align) {
  std::string fitted(text);
  if (cells(text) > width) {
    if (align == Align::kRight) return std::string(width, '#');
    if (width == 0) return "";
    fitted = std::string(begin_of(text, width - 1)) + (utf8 ? "\u2026" : "~");
  }
  const std::string space(width - std::min(width, cells(fitted)), ' ');
  return align == Align::kRight ? space + fitted : fitted + space;
}

std::string bar(double part, double rest, std::size_t width, bool utf8) {
  constexpr std::array kEighths = {"",       "\u258f", "\u258e", "\u258d",
                                   "\u258c", "\u258b", "\u258a", "\u2589"};
  const auto share = [](double x) { return std::isfinite(x) ? std::clamp(x, 0.0, 1.0) : 0.0; };
  const auto eighths = static_cast<std::size_t>(
      std::lround(share(part) * static_cast<double>(width) * static_cast<double>(8)));
  const auto both = static_cast<std::size_t>(
      std::lround(share(share(part) + share(rest)) * static_cast<double>(width)));
  const bool is_whole = !utf8 || rest > 0;  // Else it ends with a part of a cell.
  const std::size_t full = is_whole ? (eighths + 4) / 8 : eighths / 8;
  std::string text;
  std::size_t used = 0;
  for (; used < full; ++used) text += utf8 ? "\u2588" : "#";
  if (rest > 0 && both > full) {
    for (; used < both; ++used) text += utf8 ? "\u2591" : "-";
  } else if (!is_whole && eighths % 8 != 0 && used < width) {
    text += kEighths[eighths % 8];
    ++used;
  }
  return text + std::string(width - used, ' ');
}

Line cut(const Line& line, std::size_t width, bool utf8) {
  Line out;
  for (const Piece& piece : line) {
    const std::size_t wide = cells(piece.text);
    if (wide <= width) {
      out.push_back(piece);
      width -= wide;
      continue;
    }
    out.push_back({padded(piece.text, width, utf8), piece.look});
    break;
  }
  return out;
}

std::string plain_line(const Line& line) {
  std::string text;
  for (const Piece& piece : line) text += piece.text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string escaped_line(const Line& line, bool colors) {
  std::string text;
  for (const Piece& piece : line) {
    const std::string begin = sequence(piece.look, colors);
    text += begin + piece.text + (begin.empty() ? "" : "\x1b[0m");
  }
  return text;
}

}  // namespace xylem::viz
