#pragma once

// Text for a terminal, as values: lines that consist of pieces. Widths are in cells of the
// terminal. No function here accesses a terminal.
//
//   Line line;
//   line.push_back({padded(printable(host, utf8), 12, utf8), Look::kStrong});
//   out << escaped_line(line, true);

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::viz {

/// The look of a piece. If colours are off, kGood and kBar are plain, and kBad is bold.
enum class Look {
  kPlain,
  kTitle,   ///< Reversed.
  kStrong,  ///< Bold.
  kFaint,
  kGood,  ///< Green.
  kBad,   ///< Red and bold.
  kBar,   ///< Cyan.
};

/// Text that is already printable, with one look.
struct Piece {
  std::string text;
  Look look = Look::kPlain;
};
using Line = std::vector<Piece>;

/// Makes `text` safe for a terminal. Control characters, bytes that are not UTF-8, invisible
/// characters, and characters that change the direction of text become '?'. Without `utf8` all
/// non-ASCII characters become '?'. Texts of a run are untrusted: a command line may contain escape
/// sequences.
std::string printable(std::string_view text, bool utf8);

/// The width of printable text in cells. A wide character of East Asia or an emoji takes 2 cells.
std::size_t cells(std::string_view text);

enum class Align { kLeft, kRight };

/// Printable text in exactly `width` cells. A short text is padded. A long text is cut and ends
/// with an ellipsis, without `utf8` with "~". With kRight a long text becomes "#"s, since a cut
/// number would be wrong.
std::string padded(std::string_view text, std::size_t width, bool utf8, Align align = Align::kLeft);

/// A bar of `width` cells: first `part` in full cells, then `rest` in lighter cells. Both are
/// shares of the width from 0 to 1. A bar that is too long is cut. Without `utf8` the cells are
/// "#" and "-". With `utf8` and without `rest` the bar is exact to an eighth of a cell.
std::string bar(double part, double rest, std::size_t width, bool utf8);

/// The line cut to `width` cells.
Line cut(const Line& line, std::size_t width, bool utf8);

/// The line without looks, and without spaces at its end.
std::string plain_line(const Line& line);
/// The line with escape sequences of ECMA-48 that every terminal emulator supports. At its end the
/// look is plain again.
std::string escaped_line(const Line& line, bool colors);

}  // namespace xylem::viz
