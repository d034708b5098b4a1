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

TEST(CommandLine, GivesTheLauncherOfACalibrationItsWords) {
  const auto split = split_command_line(Words{"calibrate", "--json", "--", "mpirun", "-n", "2"});
  EXPECT_THAT(split.ours, ElementsAre("calibrate", "--json"));
  EXPECT_THAT(split.command, ElementsAre("mpirun", "-n", "2"));
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

/// What is said about words that a program with the verbs `report` and `tree` refuses.
std::string refusal(const Words& words) {
  CLI::App app("", "xylem");
  app.require_subcommand(1);
  CLI::App* report = app.add_subcommand("report");
  bool flag = false;
  std::string file;
  Nanos time = 0;
  report->add_flag("--json", flag);
  report->add_option("FILE", file);
  add_time_option(*report, "--wait", time, "How long");
  app.add_subcommand("tree");
  try {
    app.parse(Words(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
  return "parsed, " + std::to_string(time);
}

TEST(CommandLine, NamesTheVerbOrOptionThatWasMeant) {
  EXPECT_EQ(refusal({"repotr"}),
            "'repotr' is not a verb of xylem (did you mean report?); the verbs are report, tree, "
            "and `xylem --help` tells more");
  EXPECT_EQ(refusal({"fnord"}),
            "'fnord' is not a verb of xylem; the verbs are report, tree, and "
            "`xylem --help` tells more");
  EXPECT_EQ(refusal({"report", "--jsno"}),
            "report: not expected: '--jsno' (did you mean --json?); `xylem report --help` tells "
            "more");
  EXPECT_THAT(refusal({"--hlep"}), HasSubstr("--hlep is not an option of xylem (did you mean "
                                             "--help?)"));
}

TEST(CommandLine, ReadsATimeWithItsUnit) {
  EXPECT_EQ(refusal({"report", "--wait", "2s"}), "parsed, 2000000000");
  EXPECT_EQ(refusal({"report", "--wait", "0"}), "parsed, 0");
  EXPECT_THAT(refusal({"report", "--wait", "5"}), HasSubstr("report: --wait: '5' has no unit"));
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
