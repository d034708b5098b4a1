#include "base/settings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "base/nearest_word.h"

namespace xylem {

std::string choices_text(const std::vector<std::string>& choices) {
  return fmt::format("{}", fmt::join(choices, "|"));
}

const SettingValue& value_of(const std::vector<SettingValue>& values, std::string_view name) {
  const auto it = std::ranges::find(values, name, &SettingValue::name);
  CHECK(it != values.end());
  return *it;
}

Unexpected bad_setting(const SettingValue& setting, const std::string& why) {
  return unexpected(Code::kInvalidArgument, setting.source + ": " + why);
}

Result<bool> to_switch(const SettingValue& setting) {
  if (setting.value == "true" || setting.value == "1") return true;
  if (setting.value == "false" || setting.value == "0" || setting.value.empty()) return false;
  return bad_setting(setting, "'" + setting.value + "' is neither true nor false");
}

Result<std::uint64_t> to_number(const SettingValue& setting, std::uint64_t max) {
  std::uint64_t number = 0;
  const char* end = setting.value.data() + setting.value.size();
  const auto parsed = std::from_chars(setting.value.data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end && number <= max) return number;
  return bad_setting(setting,
                     "'" + setting.value + "' is not a number from 0 to " + std::to_string(max));
}

Result<Nanos> to_duration(const SettingValue& setting, Nanos min, Nanos max,
                          const std::string& range) {
  auto duration = to_value(setting, parse_duration);
  if (!duration) return unexpected(std::move(duration.error()));
  if (*duration < min || *duration > max) {
    return bad_setting(setting, "'" + setting.value + "' is not " + range);
  }
  return Nanos{*duration};
}

Result<std::string> to_choice(const SettingValue& setting,
                              const std::vector<std::string>& choices) {
  if (std::ranges::find(choices, setting.value) != choices.end()) return setting.value;
  return bad_setting(setting,
                     fmt::format("'{}' is not one of {}{}", setting.value, fmt::join(choices, ", "),
                                 did_you_mean(setting.value, choices)));
}

}  // namespace xylem
