#pragma once

// Text for a terminal, as values: lines of pieces, measured in cells, without control codes. Does
// not access a terminal.
//
//   Line line;
//   line.push_back({padded(printable(host, utf8), 12, utf8), Look::kStrong});
//   out << escaped_line(line, true);

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::viz {

/// How a piece looks. Without colours kGood, kBad and kBar are bold or plain.
enum class Look {
  kPlain,
  kTitle,   ///< Reversed.
  kStrong,  ///< Bold.
  kFaint,
  kGood,  ///< Green.
  kBad,   ///< Red and bold.
  kBar,   ///< Cyan.
};

/// Text that is printable already.
struct Piece {
  std::string text;
  Look look = Look::kPlain;
};
using Line = std::vector<Piece>;

/// `text` as a terminal may have it: control characters, bytes that are not UTF-8, and characters
/// that are invisible or turn the direction of others become '?'. Without `utf8` all other
/// non-ASCII characters do too. Texts of a run are untrusted: a command line may contain escape
/// sequences.
std::string printable(std::string_view text, bool utf8);

/// How many cells printable text takes: 2 for a wide character of East Asia and for emoji.
std::size_t cells(std::string_view text);

enum class Align { kLeft, kRight };

/// Printable text in exactly `width` cells: padded, or cut with an ellipsis ("~" without `utf8`) at
/// its last cell. kRight gives "#"s instead of cutting, since a cut number would be wrong.
std::string padded(std::string_view text, std::size_t width, bool utf8, Align align = Align::kLeft);

/// A bar of `width` cells of which `part` is full, and `rest` more is half full: shares from 0 to
/// 1, cut to what fits. With `utf8` to an eighth of a cell where nothing follows, else "#" and "-".
std::string bar(double part, double rest, std::size_t width, bool utf8);

/// The line cut to `width` cells.
Line cut(const Line& line, std::size_t width, bool utf8);

/// Without looks, and without spaces at its end.
std::string plain_line(const Line& line);
/// With the sequences of ECMA-48 that every terminal emulator has; ends in plain looks.
std::string escaped_line(const Line& line, bool colors);

}  // namespace xylem::viz
