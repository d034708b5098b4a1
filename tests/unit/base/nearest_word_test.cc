#include "base/nearest_word.h"

#include <gtest/gtest.h>

namespace xylem {
namespace {

const std::vector<std::string> kVerbs = {"run",    "serve", "exec", "attach", "place", "query",
                                         "report", "top",   "tree", "view",   "ls"};

TEST(NearestWord, HasOneTypingErrorOrFew) {
  EXPECT_EQ(nearest_word("repotr", kVerbs), "report") << "two letters in the wrong order";
  EXPECT_EQ(nearest_word("qery", kVerbs), "query") << "a letter is missing";
  EXPECT_EQ(nearest_word("treee", kVerbs), "tree") << "a letter too many";
  EXPECT_EQ(nearest_word("pkace", kVerbs), "place") << "a wrong letter";
  EXPECT_EQ(nearest_word("atach", kVerbs), "attach");
  EXPECT_EQ(nearest_word("reprot", kVerbs), "report");
  EXPECT_EQ(nearest_word("tpo", kVerbs), "top");
}

TEST(NearestWord, MayBeTheOnlyOneThatBeginsSo) {
  EXPECT_EQ(nearest_word("att", kVerbs), "attach");
  EXPECT_EQ(nearest_word("--overw", {"--overwrite", "--quiet"}), "--overwrite");
  EXPECT_EQ(nearest_word("--co", {"--config", "--comm-on"}), "") << "two begin so";
}

TEST(NearestWord, IsNoneWhereNoneIsNear) {
  EXPECT_EQ(nearest_word("fnord", kVerbs), "");
  EXPECT_EQ(nearest_word("list", kVerbs), "");
  EXPECT_EQ(nearest_word("", kVerbs), "");
  EXPECT_EQ(nearest_word("x", {"y", "z"}), "");
  EXPECT_EQ(nearest_word("report", {}), "");
  EXPECT_EQ(nearest_word(std::string(100'000, 'x'), kVerbs), "");
}

TEST(NearestWord, IsNamedInASentence) {
  EXPECT_EQ(did_you_mean("reprt", kVerbs), " (did you mean report?)");
  EXPECT_EQ(did_you_mean("fnord", kVerbs), "");
}

}  // namespace
}  // namespace xylem
