#pragma once

// Settings are options of a run that users can set in several places (cli/settings.h). Each
// component declares its settings in a Section, next to the struct that contains the values:
//
//   struct PumpOptions {
//     Nanos interval = 2 * kSecond;
//   };
//   const Section<PumpOptions>& pump_section() {
//     static const Section<PumpOptions> kSection = {
//         duration_option("interval", &PumpOptions::interval, 0, 60 * kSecond, "at most 60s",
//                         "Interval between two strokes"),
//     };
//     return kSection;
//   }
//   Result<PumpOptions> options = read_section(pump_section(), values);
//
// No other code repeats the default, the limits or the help. To add a setting, add an entry to the
// Section.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/result.h"

namespace xylem {

/// One option: `--NAME` on the command line, `XYLEM_NAME` (upper case, `-` as `_`) in the
/// environment, `NAME = "value"` in a configuration file.
struct Setting {
  std::string name;
  std::string default_value;
  bool is_switch;  ///< On the command line it needs no value; elsewhere it is true or false.
  std::string help;
  /// The name that `--help` shows for a value: "FILE", "TIME", "LIST", "N", or the words of a
  /// closed set, for example "profile|trace". Completion offers the words of a closed set.
  std::string value_name = "TEXT";
};

/// The words of a closed set as a value's name: "profile|trace".
std::string choices_text(const std::vector<std::string>& choices);

/// A value as text, and its source for error messages.
struct SettingValue {
  std::string name;
  std::string value;
  std::string source;  ///< "--window", "XYLEM_WINDOW", "x.toml:3: window" or "default"

  bool is_default() const { return source == "default"; }
};

/// Returns the value of the setting `name`. A setting that `values` does not contain is a bug and
/// stops the program.
const SettingValue& value_of(const std::vector<SettingValue>& values, std::string_view name);

/// An error about a value. Its message begins with the source.
Unexpected bad_setting(const SettingValue& setting, const std::string& why);

// The next four functions convert the text of a value. They fail with kInvalidArgument if the text
// is not valid.

/// Converts "true" and "1" to true; "false", "0" and the empty text to false.
Result<bool> to_switch(const SettingValue& setting);
/// A whole number from 0 to `max`.
Result<std::uint64_t> to_number(const SettingValue& setting, std::uint64_t max);
/// Converts a time from `min` to `max` (see parse_duration()). `range` is the end of the error
/// message, for example "from 1s to 1h".
Result<Nanos> to_duration(const SettingValue& setting, Nanos min, Nanos max,
                          const std::string& range);
/// Returns the text if it is one of `choices`. The error message lists them. If the text looks like
/// a misspelling of one of them, the message names that one.
Result<std::string> to_choice(const SettingValue& setting, const std::vector<std::string>& choices);
/// Converts the text with `parse`. If `parse` fails, the error message has the source, then the
/// message of `parse`.
template <typename Parse>
auto to_value(const SettingValue& setting, Parse parse) -> decltype(parse(setting.value)) {
  auto value = parse(setting.value);
  if (!value) return bad_setting(setting, value.error().message);
  return value;
}

/// A setting, and the function that writes its value into `Options`.
template <typename Options>
struct Option {
  Setting setting;
  std::function<Result<void>(const SettingValue& value, Options& options)> read;
};

/// The settings of one component, in the order in which `--help` shows them.
template <typename Options>
using Section = std::vector<Option<Options>>;

template <typename Options>
std::vector<Setting> settings_of(const Section<Options>& section) {
  std::vector<Setting> settings;
  for (const Option<Options>& option : section) settings.push_back(option.setting);
  return settings;
}

/// Adds more settings, or more options of a section, to the end.
template <typename Item>
void append(std::vector<Item>& items, const std::vector<Item>& more) {
  items.insert(items.end(), more.begin(), more.end());
}

/// Reads the settings of a section from `values`, which may contain other settings too. A setting
/// without a value keeps its default. Fails with kInvalidArgument at the first wrong value; the
/// message begins with this value's source.
template <typename Options>
Result<Options> read_section(const Section<Options>& section,
                             const std::vector<SettingValue>& values) {
  Options options;
  for (const Option<Options>& option : section) {
    for (const SettingValue& value : values) {
      if (value.name != option.setting.name) continue;
      auto done = option.read(value, options);
      if (!done) return unexpected(std::move(done.error()));
    }
  }
  return options;
}

/// Turns the section of a struct into a section of a larger struct. `member` is the small struct in
/// the large one.
template <typename Whole, typename Part>
Section<Whole> section_of_member(const Section<Part>& part, Part Whole::*member) {
  Section<Whole> section;
  for (const Option<Part>& option : part) {
    section.push_back(
        {option.setting, [read = option.read, member](const auto& value, Whole& whole) {
           return read(value, whole.*member);
         }});
  }
  return section;
}

// ---- options with one field each; the default is the field's initial value ----

/// Assigns `value` to `field`. If `value` is an error, returns the error.
template <typename Field, typename Value>
Result<void> assign(Field& field, Result<Value> value) {
  if (!value) return unexpected(std::move(value.error()));
  field = static_cast<Field>(*std::move(value));
  return {};
}

template <typename Options>
Option<Options> text_option(const char* name, std::string Options::*field, const char* help,
                            const char* value_name = "TEXT") {
  return {{name, Options{}.*field, false, help, value_name},
          [field](const SettingValue& it, Options& options) -> Result<void> {
            options.*field = it.value;
            return {};
          }};
}

template <typename Options>
Option<Options> switch_option(const char* name, bool Options::*field, const char* help) {
  return {{name, Options{}.*field ? "true" : "false", true, help, "true|false"},
          [field](const SettingValue& it, Options& options) {
            return assign(options.*field, to_switch(it));
          }};
}

/// A boolean that is written as one of two words.
template <typename Options>
Option<Options> word_option(const char* name, bool Options::*field, const std::string& when_false,
                            const std::string& when_true, const char* help) {
  std::vector<std::string> words = {when_false, when_true};
  if (Options{}.*field) std::swap(words[0], words[1]);  // The default is named first.
  return {{name, words[0], false, help, choices_text(words)},
          [field, words, when_true](const SettingValue& it, Options& options) -> Result<void> {
            const auto word = to_choice(it, words);
            if (!word) return unexpected(word.error());
            options.*field = *word == when_true;
            return {};
          }};
}

template <typename Options>
Option<Options> choice_option(const char* name, std::string Options::*field,
                              const std::vector<std::string>& choices, const char* help) {
  return {{name, Options{}.*field, false, help, choices_text(choices)},
          [field, choices](const SettingValue& it, Options& options) {
            return assign(options.*field, to_choice(it, choices));
          }};
}

/// A whole number from 0 to `max`.
template <typename Options, typename Number>
Option<Options> number_option(const char* name, Number Options::*field, std::uint64_t max,
                              const char* help) {
  return {{name, std::to_string(Options{}.*field), false, help, "N"},
          [field, max](const SettingValue& it, Options& options) {
            return assign(options.*field, to_number(it, max));
          }};
}

/// A time from `min` to `max`. `range` is the end of the error message, as in to_duration().
template <typename Options>
Option<Options> duration_option(const char* name, Nanos Options::*field, Nanos min, Nanos max,
                                const char* range, const char* help) {
  return {{name, print_duration(Options{}.*field), false, help, "TIME"},
          [field, min, max, range](const SettingValue& it, Options& options) {
            return assign(options.*field, to_duration(it, min, max, range));
          }};
}

}  // namespace xylem
