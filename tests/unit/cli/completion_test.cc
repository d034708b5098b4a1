// The scripts are made from the verbs. bash runs its script here; the other shells are not on every
// machine, so their scripts are only looked at.

#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace xylem {
namespace {

using ::testing::HasSubstr;

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() : app_("What it is", "xylem") {
    CLI::App* run = app_.add_subcommand("run", "Run a job: it's [easy]");
    run->prefix_command();
    run->add_option("--detail", text_, "What to record")->type_name("profile|trace");
    run->add_option("--store", text_, "Where to")->type_name("FILE");
    run->add_option("--window", text_, "How long")->type_name("TIME");
    run->add_flag("--quiet", flag_, "Say nothing");
    CLI::App* report = app_.add_subcommand("report", "Summarize");
    report->add_option("FILE", text_, "The run")->type_name("");
    report->add_flag("--json", flag_, "For programs");
    CLI::App* completion = app_.add_subcommand("completion", "This");
    completion->add_option("SHELL", text_, "The shell")->type_name("bash|zsh|fish");
  }

  /// What bash offers after these words; the last one is being typed.
  std::string offered(const std::string& words) {
    const std::string file =
        std::filesystem::temp_directory_path() / ("xylem-completion-" + std::to_string(::getpid()));
    std::ofstream(file) << completion_script(app_, Shell::kBash) << "COMP_WORDS=(" << words
                        << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_xylem\n"
                        << "echo \"${COMPREPLY[*]}\"\n";
    std::string text;
    const std::string command = "cd / && bash --norc --noprofile " + file + " 2>&1";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::array<char, 4096> piece{};
    while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) text += piece.data();
    ::pclose(pipe);
    std::filesystem::remove(file);
    return text.empty() ? text : text.substr(0, text.size() - 1);
  }

  CLI::App app_;
  std::string text_;
  bool flag_ = false;
};

TEST_F(CompletionTest, BashOffersVerbsOptionsAndWords) {
  EXPECT_EQ(offered("xylem ''"), "--help run report completion");
  EXPECT_EQ(offered("xylem re"), "report");
  EXPECT_EQ(offered("xylem run --"), "--help --detail --store --window --quiet");
  EXPECT_EQ(offered("xylem run --detail ''"), "profile trace");
  EXPECT_EQ(offered("xylem run --detail t"), "trace");
  EXPECT_EQ(offered("xylem run --detail = t"), "trace");
  EXPECT_EQ(offered("xylem run --window ''"), "");
  EXPECT_EQ(offered("xylem report --js"), "--json");
  EXPECT_EQ(offered("xylem completion ''"), "bash zsh fish");
  EXPECT_EQ(offered("xylem nonsense ''"), "");
}

TEST_F(CompletionTest, BashOffersFilesAndCommands) {
  EXPECT_EQ(offered("xylem report /et"), "/etc");
  EXPECT_EQ(offered("xylem run --store /et"), "/etc");
  EXPECT_THAT(offered("xylem run -- bas"), HasSubstr("bash"));
  EXPECT_EQ(offered("xylem run -- cat /et"), "/etc");
}

TEST_F(CompletionTest, ZshAndFishHaveEachVerbOptionAndWord) {
  const std::string zsh = completion_script(app_, Shell::kZsh);
  EXPECT_THAT(zsh, testing::StartsWith("#compdef xylem\n"));
  EXPECT_THAT(zsh, HasSubstr("'run:Run a job: it'\\''s [easy]'\n"));
  EXPECT_THAT(zsh, HasSubstr(" '--detail=[What to record]:word:(profile trace)'"));
  EXPECT_THAT(zsh, HasSubstr(" '--store=[Where to]:FILE:_files'"));
  EXPECT_THAT(zsh, HasSubstr(" '--quiet[Say nothing]' '*::command:_normal' ;;\n"));
  const std::string fish = completion_script(app_, Shell::kFish);
  EXPECT_THAT(fish, HasSubstr("-a run -d 'Run a job: it\\'s [easy]'\n"));
  EXPECT_THAT(fish, HasSubstr("'__fish_seen_subcommand_from run' -l detail -x -a 'profile trace'"));
  EXPECT_THAT(fish, HasSubstr("-l store -r -F -d 'Where to'\n"));
}

TEST_F(CompletionTest, KnowsItsShells) {
  EXPECT_EQ(shell_of("zsh"), Shell::kZsh);
  EXPECT_EQ(shell_of("csh"), std::nullopt);
}

}  // namespace
}  // namespace xylem
