#pragma once

// The words that the user has typed, before and after CLI11 parses them.

#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace xylem {

/// The words behind the program's name. `run`, `exec` and `calibrate` take a command. CLI11 does
/// not parse the words of this command behind `--`.
struct CommandLine {
  std::vector<std::string> ours;     ///< For CLI11.
  std::vector<std::string> command;  ///< The words behind the first `--` of such a verb.
  bool has_dashes = false;           ///< True if there is this `--`.
};

/// Splits the words of a command line; never fails.
CommandLine split_command_line(std::span<const std::string> words);

/// The command of a verb that takes one, after parsing. It begins with the words that CLI11 did
/// not parse. If there are such words, the command has begun before `--`, and `--` belongs to it.
/// Fails with kInvalidArgument if the first word looks like an option: a mistyped option must not
/// be started as a command.
Result<std::vector<std::string>> command_of(const CLI::App& verb, const CommandLine& line);

/// Returns one sentence: why `app` has refused the words, and where to read more. If a verb or an
/// option looks mistyped, the sentence names the right one.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

/// Adds an option whose value is a time with a unit, as in 10s. A wrong time is wrong usage.
CLI::Option* add_time_option(CLI::App& verb, const std::string& name, Nanos& value,
                             const std::string& help);

/// Prints "xylem: SENTENCE" to standard error and returns kExitUsage.
int fail_usage(const std::string& sentence);

}  // namespace xylem
