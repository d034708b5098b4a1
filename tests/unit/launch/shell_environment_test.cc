#include "launch/shell_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace xylem::launch {
namespace {

using ::testing::Contains;
using ::testing::Pair;

constexpr const char* kLibrary = "/x/lib/libxylem-capture.so";

using Variables = std::map<std::string, std::string>;

std::vector<std::string> as_list(const Variables& variables) {
  std::vector<std::string> list;
  for (const auto& [name, value] : variables) list.push_back(name + "=" + value);
  return list;
}

/// What a shell makes of these lines; their values are without quotes.
Variables evaluated(Variables variables, const std::string& lines) {
  static const std::regex kLine(R"(export (\w+)='([^']*)'\n|unset ([\w ]+)\n)");
  for (std::sregex_iterator it(lines.begin(), lines.end(), kLine), end; it != end; ++it) {
    if ((*it)[1].matched) variables[(*it)[1]] = (*it)[2];
    std::istringstream names((*it)[3]);
    for (std::string name; names >> name;) variables.erase(name);
  }
  EXPECT_EQ(std::regex_replace(lines, kLine, ""), "") << "something else stands there";
  return variables;
}

Variables entered(const Variables& before, int pid = 42, bool is_remote = true) {
  LaunchOptions options;
  options.addresses = {"127.0.0.1:4711"};
  options.run = std::to_string(pid);
  options.capture_library = kLibrary;
  options.backend = "/x/xylem-backend";
  options.start.sample = "none";
  options.remote = is_remote;
  const auto list = as_list(before);
  return evaluated(before, lines_to_enter(job_environment(options, list), pid, list));
}

Variables left(const Variables& now) {
  return evaluated(now, lines_to_leave(as_list(now), kLibrary));
}

TEST(ShellEnvironment, IsAsBeforeWhenItIsLeft) {
  const std::vector<Variables> befores = {
      {{"HOME", "/h"}},
      {{"LD_PRELOAD", "/mine.so"}, {"XYLEM_SAMPLE", "MPI_Test=7"}},
      {{"LD_PRELOAD", ""}, {"OMPI_MCA_mca_base_env_list", "FOO;LD_PRELOAD"}},
      {{"XYLEM_RUN", "100%25\nand more"}}};
  for (const Variables& before : befores) {
    const Variables inside = entered(before);
    EXPECT_THAT(inside, Contains(Pair("XYLEM_SERVE_PID", "42")));
    EXPECT_THAT(inside, Contains(Pair("XYLEM_RUN", "42")));
    EXPECT_THAT(inside.at("LD_PRELOAD"), ::testing::StartsWith(kLibrary));
    EXPECT_EQ(left(inside), before);
  }
}

TEST(ShellEnvironment, KeepsWhatWasPutIntoItsListsMeanwhile) {
  Variables inside = entered({{"LD_PRELOAD", "/mine.so"}});
  inside["LD_PRELOAD"] = "/new.so:" + inside["LD_PRELOAD"];
  inside["OMPI_MCA_mca_base_env_list"] += ";NEW";
  const Variables after = left(inside);
  EXPECT_EQ(after.at("LD_PRELOAD"), "/new.so:/mine.so");
  EXPECT_EQ(after.at("OMPI_MCA_mca_base_env_list"), "NEW");
}

TEST(ShellEnvironment, EntryInsideAnotherIsLeftAlone) {
  const Variables before = {{"HOME", "/h"}};
  const Variables outer = entered(before, 1);
  const Variables inner = entered(outer, 2);
  EXPECT_EQ(left(inner), outer);
  EXPECT_EQ(left(left(inner)), before);
}

TEST(ShellEnvironment, ThatWasNotEnteredIsNotLeft) {
  EXPECT_EQ(lines_to_leave({"LD_PRELOAD=/x/lib/libxylem-capture.so"}, kLibrary), "");
}

TEST(CheckPreload, RefusesPathsThatTheLoaderWouldTakeForSeveral) {
  EXPECT_TRUE(check_preload("/opt/xylem-1.0/lib/libxylem-capture.so"));
  for (const char* bad : {"/my tools/x.so", "/a:b/x.so", "/$LIB/x.so"}) {
    const auto refused = check_preload(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr(bad));
  }
}

}  // namespace
}  // namespace xylem::launch
