#include "base/quoted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

namespace xylem {
namespace {

using ::testing::ElementsAreArray;

// The words as a real shell reads them.
std::vector<std::string> read_by_a_shell(const std::string& line) {
  FILE* shell = popen(("printf '%s\\n' " + line).c_str(), "r");
  if (shell == nullptr) return {};
  std::vector<std::string> words;
  std::array<char, 256> text;
  while (std::fgets(text.data(), static_cast<int>(text.size()), shell) != nullptr) {
    words.emplace_back(text.data());
    words.back().pop_back();
  }
  pclose(shell);
  return words;
}

TEST(ShellLine, IsReadBackAsTheSameWords) {
  const std::vector<std::string> words = {"mpirun", "-n",   "4",  "./my app", "it's", "$HOME", "",
                                          "a;b|c&", "`id`", "\\", "--x=1,2",  "*"};
  EXPECT_THAT(read_by_a_shell(shell_line(words)), ElementsAreArray(words));
}

TEST(ShellLine, AFirstWordWithAnEqualsSignIsNoAssignment) {
  EXPECT_EQ(shell_line({"A=b", "c"}), "'A=b' c");
  EXPECT_EQ(shell_line({"env", "A=b", "c"}), "env A=b c");
}

TEST(ShellLine, HasQuotesWhereTheyAreNeeded) {
  EXPECT_EQ(shell_line({"mpirun", "-n", "4", "./my app"}), "mpirun -n 4 './my app'");
  EXPECT_EQ(shell_quoted("plain"), "'plain'");
}

}  // namespace
}  // namespace xylem
