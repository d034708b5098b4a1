// What belongs to xylem and what to the job. The sentences about wrong words are tested by
// tests/integration/command_line_test.py.

#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace xylem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

/// The command that these words give `run`, which has an option `--store`.
Result<Words> command(const Words& words) {
  const CommandLine line = split_command_line(words);
  CLI::App app;
  CLI::App* run = app.add_subcommand("run");
  run->prefix_command();
  std::string store;
  run->add_option("--store", store);
  app.parse(Words(line.ours.rbegin(), line.ours.rend()));
  return command_of(*run, line);
}

TEST(CommandLine, GivesTheJobAllWordsBehindTheDashes) {
  const auto split = split_command_line(Words{"run", "--store", "x.db", "--", "app", "--", "-n"});
  EXPECT_THAT(split.ours, ElementsAre("run", "--store", "x.db"));
  EXPECT_THAT(split.command, ElementsAre("app", "--", "-n"));
  EXPECT_THAT(*command({"run", "--store", "x.db", "--", "app", "--store", "y"}),
              ElementsAre("app", "--store", "y"));
}

TEST(CommandLine, KeepsDashesInsideACommand) {
  EXPECT_THAT(*command({"run", "sh", "-c", "$0", "--", "word"}),
              ElementsAre("sh", "-c", "$0", "--", "word"));
}

TEST(CommandLine, LeavesTheDashesOfOtherVerbsToThem) {
  const auto split = split_command_line(Words{"query", "--", "x.db"});
  EXPECT_THAT(split.ours, ElementsAre("query", "--", "x.db"));
  EXPECT_FALSE(split.has_dashes);
}

TEST(CommandLine, IsEmptyWithoutWords) {
  EXPECT_THAT(split_command_line({}).ours, IsEmpty());
  EXPECT_THAT(*command({"run"}), IsEmpty());
  EXPECT_THAT(*command({"run", "--"}), IsEmpty());
}

TEST(CommandLine, TakesNoMistypedOptionForACommand) {
  const auto mistyped = command({"run", "--stor", "x.db", "--", "app"});
  ASSERT_FALSE(mistyped);
  EXPECT_EQ(mistyped.error().code, Code::kInvalidArgument);
  EXPECT_THAT(mistyped.error().message,
              HasSubstr("--stor is not an option of xylem run (did you mean --store?)"));
}

}  // namespace
}  // namespace xylem
