#include "base/printable_text.h"

#include <gtest/gtest.h>

namespace xylem {
namespace {

TEST(PrintableText, ShowsControlCharactersInsteadOfObeyingThem) {
  EXPECT_EQ(printable("a\x1b[2Jb\r\n\tc\x7f"), "a\\x1b[2Jb\\r\\n\\tc\\x7f");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m\xc2\x85"),
            "\\u009b31m\\u0085")
      << "C1: a terminal takes U+009B for ESC [";
}

TEST(PrintableText, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff\xc0\x80\xed\xa0\x80\xe2\x82"),
            "\\xff\\xc0\\x80\\xed\\xa0\\x80\\xe2\\x82");
  EXPECT_EQ(printable("\x9b"), "\\x9b") << "a C1 byte of Latin-1";
}

TEST(PrintableText, ShowsCharactersThatNobodySees) {
  EXPECT_EQ(printable("\u202egnp.exe\u200b\ufeff\u2028"), "\\u202egnp.exe\\u200b\\ufeff\\u2028");
}

TEST(PrintableText, LeavesTextAsItIs) {
  for (const char* text : {"", "./app --n 5", "gr\u00fcn \u8a08\u7b97 \U0001f600", "e\u0301",
                           "\u05d0\u0628", "C:\\x1b", "a \\n b"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(PrintableText, IsPrintableItself) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string once = printable(std::string(2, static_cast<char>(byte)));
    EXPECT_EQ(printable(once), once);
  }
}

}  // namespace
}  // namespace xylem
