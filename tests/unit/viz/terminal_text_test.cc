#include "viz/terminal_text.h"

#include <gtest/gtest.h>

namespace xylem::viz {
namespace {

TEST(TerminalText, HoldsNothingThatATerminalObeys) {
  EXPECT_EQ(printable("a\x1b[2Jb\r\n\tc\x7f", true), "a?[2Jb???c?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m",
                      true),
            "?31m")
      << "CSI in one character";
  EXPECT_EQ(printable("\xe2\x80\xaegnp.exe", true), "?gnp.exe") << "turns the direction";
  EXPECT_EQ(printable("e\u0301", true), "e?") << "combines with what is before it";
  EXPECT_EQ(printable("\xff\xc0\x80\xed\xa0\x80\xe2\x82", true), "????????") << "no UTF-8";
  EXPECT_EQ(printable("gr\u00fcn \u8a08\u7b97", true), "gr\u00fcn \u8a08\u7b97");
  EXPECT_EQ(printable("gr\u00fcn", false), "gr?n");
}

TEST(TerminalText, IsMeasuredInCells) {
  EXPECT_EQ(cells("abc"), 3u);
  EXPECT_EQ(cells("gr\u00fcn"), 4u);
  EXPECT_EQ(cells("\u8a08\u7b97"), 4u);
  EXPECT_EQ(padded("abc", 5, true), "abc  ");
  EXPECT_EQ(padded("abc", 5, true, Align::kRight), "  abc");
  EXPECT_EQ(padded("abcdef", 4, true), "abc\u2026");
  EXPECT_EQ(padded("abcdef", 4, false), "abc~");
  EXPECT_EQ(padded("\u8a08\u7b97\u6a5f", 4, true), "\u8a08\u2026 ") << "half a character is none";
  EXPECT_EQ(padded("abc", 0, true), "");
  EXPECT_EQ(padded("1,234", 4, true, Align::kRight), "####") << "a number that is cut is wrong";
}

TEST(TerminalText, BarsAreAsLongAsTheirShares) {
  EXPECT_EQ(bar(0.5, 0, 4, false), "##  ");
  EXPECT_EQ(bar(0.25, 0.5, 4, false), "#-- ");
  EXPECT_EQ(bar(0.25, 0.5, 4, true), "\u2588\u2591\u2591 ");
  EXPECT_EQ(bar(0.375, 0, 4, true), "\u2588\u258c  ");
  for (const double share : {-1.0, 0.0, 0.01, 0.3, 0.999, 1.0, 7.0, 0.0 / 0.0, 1e300}) {
    for (const double rest : {-1.0, 0.0, 0.05, 0.6, 3.0}) {
      for (const bool utf8 : {false, true}) EXPECT_EQ(cells(bar(share, rest, 9, utf8)), 9u);
    }
  }
}

TEST(TerminalText, LinesAreCutBetweenPiecesAndWithin) {
  const Line line = {{"abc", Look::kTitle}, {"defg"}, {"hi"}};
  EXPECT_EQ(plain_line(cut(line, 9, true)), "abcdefghi");
  EXPECT_EQ(plain_line(cut(line, 6, true)), "abcde\u2026");
  EXPECT_EQ(plain_line(cut(line, 3, false)), "abc");
  EXPECT_EQ(plain_line({{"a  "}, {"  "}}), "a");
}

TEST(TerminalText, LooksEndWhereTheirPieceEnds) {
  const Line line = {{"a", Look::kTitle}, {"b"}, {"c", Look::kBad}, {"d", Look::kBar}};
  EXPECT_EQ(escaped_line(line, true), "\x1b[7ma\x1b[0mb\x1b[1;31mc\x1b[0m\x1b[36md\x1b[0m");
  EXPECT_EQ(escaped_line(line, false), "\x1b[7ma\x1b[0mb\x1b[1mc\x1b[0md") << "no colours";
}

}  // namespace
}  // namespace xylem::viz
