#include "base/config.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace xylem {
namespace {

TEST(ParseConfig, ASectionWithoutKeysIsAnEntryWithoutAValue) {
  const auto entries = parse_config("[service.host]\n\n[service.gpu]\nexec = \"/x\"\n", "f.toml");
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ(entries->at(1).key, "service.host");
  EXPECT_EQ(entries->at(1).value, "");
  EXPECT_EQ(entries->at(1).line, 1);
  EXPECT_EQ(entries->at(0).key, "service.gpu.exec");
}

TEST(ParseConfig, FlattensTablesAndRemembersLines) {
  const auto entries =
      parse_config("store = 'a.db'\n[run]\nwindow = '250ms'\nhosts = ['x', 'y']\n", "f");
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 4u);
  bool saw_window = false;
  int hosts = 0;
  for (const ConfigEntry& e : *entries) {
    if (e.key == "run.window") {
      saw_window = true;
      EXPECT_EQ(e.value, "250ms");
      EXPECT_EQ(e.line, 3);
    }
    hosts += e.key == "run.hosts";
  }
  EXPECT_TRUE(saw_window);
  EXPECT_EQ(hosts, 2);
}

TEST(ParseConfig, WritesFractionsWithTheFewestDigits) {
  const auto entries = parse_config(
      "a = 0.18\nb = 0.000001\nc = 1e3\nd = -2.5\ne = 5e-324\nf = 1.7e308\ng = -0.0\nh = inf\n",
      "t");
  ASSERT_TRUE(entries) << entries.error().message;
  std::vector<std::string> values;
  for (const ConfigEntry& it : *entries) values.push_back(it.value);
  ASSERT_EQ(values.size(), 8u);
  EXPECT_EQ(values[0], "0.18");
  EXPECT_EQ(values[1], "0.000001");
  EXPECT_EQ(values[2], "1000.0");
  EXPECT_EQ(values[3], "-2.5");
  EXPECT_EQ(std::strtod(values[4].c_str(), nullptr), 5e-324);
  EXPECT_EQ(std::strtod(values[5].c_str(), nullptr), 1.7e308);
  EXPECT_EQ(values[6], "-0.0");
  EXPECT_EQ(values[7], "inf");
}

TEST(ParseConfig, NamesFileAndLineOfAnError) {
  const auto entries = parse_config("a = 1\nb = = 2\n", "x.toml");
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, Code::kInvalidArgument);
  EXPECT_EQ(entries.error().message.rfind("x.toml:2: ", 0), 0u) << entries.error().message;
}

TEST(ParseConfig, RefusesATableWithoutAName) {
  for (const char* text : {"\n[=]\n", "\n[ # ]\n", "\n[[+]]\n"}) {
    const auto entries = parse_config(text, "x.toml");
    ASSERT_FALSE(entries) << text;
    EXPECT_EQ(entries.error().code, Code::kInvalidArgument);
    EXPECT_EQ(entries.error().message.rfind("x.toml:2: ", 0), 0u) << entries.error().message;
  }
}

TEST(ParseConfig, RefusesALetterWhereABlankMayStand) {
  for (const char* text : {"\n\xcf\x8bk = 1\n", "\nk\xc3\xa9 = 1\n", "\nk = \xc3\xb6\n"}) {
    const auto entries = parse_config(text, "x.toml");
    ASSERT_FALSE(entries) << text;
    EXPECT_EQ(entries.error().message.rfind("x.toml:2: ", 0), 0u) << entries.error().message;
  }
  const auto quoted = parse_config("k = '\xc3\xa9'  # \xc3\xb6\n", "x.toml");
  ASSERT_TRUE(quoted) << quoted.error().message;
  EXPECT_EQ(quoted->front().value, "\xc3\xa9");
}

TEST(ParseConfig, RefusesNestedArrays) {
  const auto entries = parse_config("a = [[1], [2]]\n", "x.toml");
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, Code::kInvalidArgument);
}

TEST(ParseConfig, RefusesWhatWouldBePassedOverInSilence) {
  const std::pair<const char*, const char*> cases[] = {
      {"\nk = []\n", "x.toml:2: 'k' is an empty list"},
      {"[[s.k]]\nv = 1\n", "x.toml:1: 's.k' holds a nested value"},
      {"k = 1\nk = 2\n", "x.toml:2: "},
      {"[s.k]\n[s.k]\n", "x.toml:2: "},
  };
  for (const auto& [text, why] : cases) {
    const auto entries = parse_config(text, "x.toml");
    ASSERT_FALSE(entries) << text;
    EXPECT_EQ(entries.error().message.rfind(why, 0), 0u) << entries.error().message;
  }
}

TEST(LoadConfig, SaysThatAFileCannotBeRead) {
  const auto entries = load_config("/nonexistent/x.toml");
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, Code::kNotFound);
}

TEST(ParseDuration, UnderstandsUnits) {
  EXPECT_EQ(*parse_duration("250ms"), 250'000'000);
  EXPECT_EQ(*parse_duration("1.5s"), 1'500'000'000);
  EXPECT_EQ(*parse_duration("10us"), 10'000);
  EXPECT_EQ(*parse_duration("0"), 0);
  EXPECT_EQ(*parse_duration("1m"), 60'000'000'000);
}

TEST(PrintDuration, GivesWhatIsReadAsTheSame) {
  EXPECT_EQ(print_duration(2'000'000'000), "2s");
  EXPECT_EQ(print_duration(1'500'000'000), "1500ms");
  EXPECT_EQ(print_duration(1'500'000), "1500us");
  EXPECT_EQ(print_duration(0), "0s");
  for (const long long ns : {1LL, 999LL, 1'001'000LL, 3'600'000'000'000LL}) {
    EXPECT_EQ(*parse_duration(print_duration(ns)), ns);
  }
}

TEST(PrintText, GivesWhatIsReadAsTheSame) {
  const std::string text = "a \"quoted\" \\ path, a\nline and \x01\x1f\x7f";
  const auto entries = parse_config("key = " + print_text(text), "x");
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->at(0).value, text);
}

TEST(ParseDuration, RefusesWhatIsNotOne) {
  for (const char* text : {"", "ms", "5 ms", "-1s", "1x", "nan", "1e300s", "1e999s", "0xf",
                           "0x1p3s", "+5s", " 5s", "\t5s", "-0", "inf", "infinity", "nan(1)s"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_EQ(duration.error().code, Code::kInvalidArgument) << text;
  }
}

TEST(ParseSize, UnderstandsPowersOf1024) {
  EXPECT_EQ(*parse_size("64k"), 65536);
  EXPECT_EQ(*parse_size("2M"), 2097152);
  EXPECT_EQ(*parse_size("10"), 10);
  EXPECT_EQ(*parse_size("1.5k"), 1536);
}

TEST(ParseSize, RefusesWhatIsNotOne) {
  for (const char* text :
       {"", "k", "3T", "-1", "-0", "0x10", "0x1pk", "+1k", " 64k", "inf", "nan"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code, Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace xylem
