#include "base/settings.h"

#include <gtest/gtest.h>

namespace xylem {
namespace {

struct Valve {
  bool open = true;
};

struct Pump {
  std::string liquid = "water";
  bool loud = false;
  bool reversed = false;
  std::uint16_t strokes = 3;
  Nanos interval = 2 * kSecond;
  std::string colour = "red";
  Valve valve;
};

const Section<Valve>& valve_section() {
  static const Section<Valve> kSection = {word_option("valve", &Valve::open, "shut", "open", "")};
  return kSection;
}

const Section<Pump>& pump_section() {
  static const Section<Pump> kSection = [] {
    Section<Pump> section = {
        text_option("liquid", &Pump::liquid, "What it moves"),
        switch_option("loud", &Pump::loud, ""),
        word_option("direction", &Pump::reversed, "up", "down", ""),
        number_option("strokes", &Pump::strokes, 9, ""),
        duration_option("interval", &Pump::interval, kSecond, 60 * kSecond, "from 1s to 60s", ""),
        choice_option("colour", &Pump::colour, {"red", "blue"}, ""),
    };
    append(section, section_of_member(valve_section(), &Pump::valve));
    return section;
  }();
  return kSection;
}

TEST(Settings, HaveTheDefaultsOfTheStruct) {
  std::vector<SettingValue> values;
  for (const Setting& setting : settings_of(pump_section())) {
    values.push_back({setting.name, setting.default_value, "default"});
  }
  const char* expected[] = {"water", "false", "up", "3", "2s", "red", "open"};
  ASSERT_EQ(values.size(), std::size(expected));
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i].value, expected[i]);
  const auto pump = read_section(pump_section(), values);
  ASSERT_TRUE(pump) << pump.error().message;
  EXPECT_EQ(pump->liquid, "water");
  EXPECT_EQ(pump->strokes, 3);
  EXPECT_EQ(pump->interval, 2 * kSecond);
  EXPECT_TRUE(pump->valve.open);
  EXPECT_TRUE(read_section(pump_section(), {})) << "what is not there has its default";
}

TEST(Settings, AreReadIntoTheirFields) {
  const auto pump = read_section(pump_section(), {{"liquid", "oil", "--liquid"},
                                                  {"loud", "1", "--loud"},
                                                  {"direction", "down", "--direction"},
                                                  {"strokes", "9", "--strokes"},
                                                  {"interval", "1500ms", "--interval"},
                                                  {"colour", "blue", "--colour"},
                                                  {"valve", "shut", "--valve"},
                                                  {"of-others", "x", "--of-others"}});
  ASSERT_TRUE(pump) << pump.error().message;
  EXPECT_EQ(pump->liquid, "oil");
  EXPECT_TRUE(pump->loud);
  EXPECT_TRUE(pump->reversed);
  EXPECT_EQ(pump->strokes, 9);
  EXPECT_EQ(pump->interval, 1500 * kMillisecond);
  EXPECT_EQ(pump->colour, "blue");
  EXPECT_FALSE(pump->valve.open);
}

TEST(Settings, ErrorsBeginWithTheSourceAndSayWhatIsPossible) {
  const struct {
    const char* name;
    const char* value;
    const char* why;
  } bad[] = {{"loud", "very", "'very' is neither true nor false"},
             {"direction", "left", "'left' is not one of up, down"},
             {"valve", "ajar", "'ajar' is not one of open, shut"},
             {"strokes", "10", "'10' is not a number from 0 to 9"},
             {"strokes", "-1", "'-1' is not a number from 0 to 9"},
             {"interval", "61s", "'61s' is not from 1s to 60s"},
             {"interval", "5", "'5' has no unit; write for example 5s or 5ms"},
             {"colour", "green", "'green' is not one of red, blue"}};
  for (const auto& it : bad) {
    const auto pump = read_section(pump_section(), {{it.name, it.value, "x.toml:3: pump"}});
    ASSERT_FALSE(pump) << it.name << " " << it.value;
    EXPECT_EQ(pump.error().code, Code::kInvalidArgument);
    EXPECT_EQ(pump.error().message, std::string("x.toml:3: pump: ") + it.why);
  }
}

TEST(Settings, AreReadByAParserWhoseErrorsGetTheSource) {
  const auto parse_side = [](const std::string& text) -> Result<int> {
    if (text == "left") return -1;
    return unexpected(Code::kNotFound, "'" + text + "' is no side");
  };
  const auto left = to_value({"side", "left", "--side"}, parse_side);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(*left, -1);
  const auto wrong = to_value({"side", "up", "--side"}, parse_side);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kInvalidArgument);
  EXPECT_EQ(wrong.error().message, "--side: 'up' is no side");
}

}  // namespace
}  // namespace xylem
