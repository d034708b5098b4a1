#pragma once

// Text for a terminal. A line consists of pieces. Widths are in cells of the terminal. No function
// here accesses a terminal.
//
//   Line line;
//   line.push_back({padded(printable(host, utf8), 12, utf8), Look::kStrong});
//   out << escaped_line(line, true);

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::viz {

/// The look of a piece. Without colours, kGood and kBar are plain, and kBad is bold.
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
/// characters, and characters that change the direction of text become '?'. If `utf8` is false, all
/// non-ASCII characters become '?'. Use it for all texts of a run: a command line, for example, may
/// contain escape sequences.
std::string printable(std::string_view text, bool utf8);

/// Returns the width of printable text in cells. A wide East Asian character or an emoji has 2
/// cells.
std::size_t cells(std::string_view text);

enum class Align { kLeft, kRight };

/// Returns printable text with exactly `width` cells. A short text is padded. A long text is cut
/// and ends with an ellipsis, or with "~" if `utf8` is false. With kRight, a long text is replaced
/// by `width` times "#", because a cut number would be wrong.
std::string padded(std::string_view text, std::size_t width, bool utf8, Align align = Align::kLeft);

/// Returns a bar with `width` cells: first `part` in full cells, then `rest` in lighter cells. Both
/// are shares of the width, from 0 to 1. If the sum is above 1, the bar is cut. If `utf8` is false,
/// the cells are "#" and "-". If `utf8` is true and `rest` is 0, the bar is exact to an eighth of a
/// cell.
std::string bar(double part, double rest, std::size_t width, bool utf8);

/// Returns the line, cut to `width` cells.
Line cut(const Line& line, std::size_t width, bool utf8);

/// Returns the text of the line, without looks and without spaces at the end.
std::string plain_line(const Line& line);
/// Returns the line with escape sequences of ECMA-48 that every terminal emulator supports. At the
/// end of the line the look is plain again.
std::string escaped_line(const Line& line, bool colors);

}  // namespace xylem::viz
