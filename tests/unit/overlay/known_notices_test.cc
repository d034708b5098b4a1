#include "overlay/known_notices.h"

#include <gtest/gtest.h>

namespace xylem::overlay {
namespace {

wire::Notice notice(const std::string& host, std::uint32_t pid, std::uint64_t number) {
  wire::Notice notice;
  notice.host = host;
  notice.pid = pid;
  notice.number = number;
  return notice;
}

TEST(KnownNotices, KnowsANoticeThatComesAgainInWhateverOrder) {
  KnownNotices known;
  EXPECT_TRUE(known.add(notice("a", 1, 7)));
  EXPECT_TRUE(known.add(notice("a", 1, 5)));
  EXPECT_FALSE(known.add(notice("a", 1, 7)));
  EXPECT_FALSE(known.add(notice("a", 1, 5)));
}

TEST(KnownNotices, TellsProcessesApart) {
  KnownNotices known;
  EXPECT_TRUE(known.add(notice("a", 1, 7)));
  EXPECT_TRUE(known.add(notice("a", 2, 7)));
  EXPECT_TRUE(known.add(notice("b", 1, 7)));
}

TEST(KnownNotices, TakesEachWithoutANumberForNew) {
  KnownNotices known;
  EXPECT_TRUE(known.add(notice("a", 1, 0)));
  EXPECT_TRUE(known.add(notice("a", 1, 0)));
}

TEST(KnownNotices, ForgetsTheOldest) {
  KnownNotices known;
  for (std::uint64_t n = 1; n <= KnownNotices::kKnown + 1; ++n) known.add(notice("a", 1, n));
  EXPECT_FALSE(known.add(notice("a", 1, 2)));
  EXPECT_TRUE(known.add(notice("a", 1, 1)));
}

}  // namespace
}  // namespace xylem::overlay
