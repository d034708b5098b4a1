#include "cli/command_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>

#include "base/config.h"
#include "base/nearest_word.h"
#include "base/printable_text.h"
#include "cli/exit_code.h"

namespace xylem {
namespace {

/// " (did you mean --store?)" for a mistyped option of `app`; "" otherwise.
std::string meant_option(const CLI::App& app, const std::string& typed) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return did_you_mean(typed.substr(0, typed.find('=')), names);
}

}  // namespace

CommandLine split_command_line(std::span<const std::string> words) {
  CommandLine line;
  constexpr std::array kWithCommand = {"run", "exec", "calibrate"};
  const bool has_command =
      !words.empty() && std::ranges::find(kWithCommand, words.front()) != kWithCommand.end();
  const auto dashes = has_command ? std::find(words.begin(), words.end(), "--") : words.end();
  line.ours.assign(words.begin(), dashes);
  line.has_dashes = dashes != words.end();
  if (line.has_dashes) line.command.assign(dashes + 1, words.end());
  return line;
}

Result<std::vector<std::string>> command_of(const CLI::App& verb, const CommandLine& line) {
  std::vector<std::string> words = verb.remaining();
  if (!words.empty() && words.front().starts_with("-")) {
    return unexpected(Code::kInvalidArgument,
                      words.front() + " is not an option of xylem " + verb.get_name() +
                          meant_option(verb, words.front()) + "; `xylem " + verb.get_name() +
                          " --help` lists them, and a command goes behind --");
  }
  if (!words.empty() && line.has_dashes) words.emplace_back("--");
  words.insert(words.end(), line.command.begin(), line.command.end());
  return words;
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::vector<std::string> strays = app.remaining();  // Words outside of all verbs.
  if (chosen.empty() || !strays.empty()) {
    std::vector<std::string> verbs;
    for (const CLI::App* verb : app.get_subcommands(nullptr)) verbs.push_back(verb->get_name());
    std::string what = "a verb is missing";
    if (!strays.empty() && strays.front().starts_with("-")) {
      what = strays.front() + " is not an option of xylem" + meant_option(app, strays.front());
    } else if (!strays.empty()) {
      what =
          "'" + strays.front() + "' is not a verb of xylem" + did_you_mean(strays.front(), verbs);
    }
    return what +
           fmt::format("; the verbs are {}, and `xylem --help` tells more", fmt::join(verbs, ", "));
  }
  const std::string verb = chosen.front()->get_name();
  const std::vector<std::string> surplus = chosen.front()->remaining();
  std::string what = error.what();
  if (!surplus.empty()) what = fmt::format("not expected: '{}'", fmt::join(surplus, "', '"));
  for (const std::string& word : surplus) {
    if (word.starts_with("-")) what += meant_option(*chosen.front(), word);
  }
  return verb + ": " + what + "; `xylem " + verb + " --help` tells more";
}

CLI::Option* add_time_option(CLI::App& verb, const std::string& name, Nanos& value,
                             const std::string& help) {
  const auto read = [&value, name](const std::string& text) {
    const auto time = parse_duration(text);
    if (!time) throw CLI::ValidationError(name, time.error().message);
    value = *time;
  };
  return verb.add_option_function<std::string>(name, read, help)->type_name("TIME");
}

int fail_usage(const std::string& sentence) {
  std::fprintf(stderr, "xylem: %s\n", printable(sentence).c_str());
  return kExitUsage;
}

}  // namespace xylem
