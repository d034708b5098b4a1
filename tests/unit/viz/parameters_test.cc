#include "viz/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xylem::viz {
namespace {

using ::testing::HasSubstr;

Target parsed(std::string_view text) {
  auto target = Target::parse(text);
  EXPECT_TRUE(target) << text;
  return target ? *std::move(target) : Target();
}

TEST(Target, IsAPathAndDecodedParameters) {
  Target target = parsed("/api/v1/query?sql=SELECT%20%27a%27+%2B+1&rows=7&#part");
  EXPECT_EQ(target.path(), "/api/v1/query");
  EXPECT_EQ(target.text("sql"), "SELECT 'a' + 1");
  EXPECT_EQ(target.count("rows", 3), 7u);
  EXPECT_EQ(target.count("columns", 3), 3u);
  EXPECT_EQ(target.fault(), std::nullopt);
}

TEST(Target, DecodesACharacterAtTheVeryEnd) {
  EXPECT_EQ(parsed("/?name=a%20b%21").text("name"), "a b!");
}

TEST(Target, RefusesWhatDoesNotDecode) {
  for (const char* text : {"", "api", "?x=1", "/%", "/%4", "/%zz", "/%00", "/?x=%", "/?%=1",
                           "/?x=1&x=2", "/a\nb", "//other.host/", "/\\other.host/"}) {
    const auto target = Target::parse(text);
    ASSERT_FALSE(target) << text;
    EXPECT_EQ(target.error().code, Code::kInvalidArgument);
  }
  EXPECT_FALSE(Target::parse("/" + std::string(kMaxTargetBytes, 'x')));
}

TEST(Target, NamesTheParameterThatIsWrong) {
  for (const char* text : {"/?n=", "/?n=-1", "/?n=1x", "/?n=1.5", "/?n=99999999999999999999"}) {
    Target target = parsed(text);
    EXPECT_EQ(target.count("n", 5), 5u);
    ASSERT_TRUE(target.fault()) << text;
    EXPECT_THAT(target.fault()->message, HasSubstr("n must be a whole number"));
  }
  Target time = parsed("/?at=-5");
  EXPECT_EQ(time.nanos("at"), -5);
  EXPECT_EQ(time.fault(), std::nullopt);
  Target flag = parsed("/?on=maybe");
  EXPECT_FALSE(flag.flag("on"));
  EXPECT_TRUE(flag.fault());
}

TEST(Target, OfChoicesTheFirstIsTakenWhereNoneIsNamed) {
  EXPECT_EQ(parsed("/").choice("value", "mpi|wait"), 0u);
  EXPECT_EQ(parsed("/?value=wait").choice("value", "mpi|wait"), 1u);
  Target wrong = parsed("/?value=wai");
  EXPECT_EQ(wrong.choice("value", "mpi|wait"), 0u);
  ASSERT_TRUE(wrong.fault());
  EXPECT_THAT(wrong.fault()->message, HasSubstr("mpi|wait"));
}

TEST(Target, TellsOfAParameterThatNobodyAskedFor) {
  Target target = parsed("/?colums=5");
  EXPECT_EQ(target.count("columns", 9), 9u);
  ASSERT_TRUE(target.fault());
  EXPECT_THAT(target.fault()->message, HasSubstr("'colums'"));
}

TEST(Target, IsGivenBackWithoutAParameter) {
  EXPECT_EQ(Target::without("/?token=1", "token"), "/");
  EXPECT_EQ(Target::without("/a?x=%20&token=1&y", "token"), "/a?x=%20&y");
  EXPECT_EQ(Target::without("/a?tok%65n=1&tokens=2", "token"), "/a?tokens=2");
}

}  // namespace
}  // namespace xylem::viz
