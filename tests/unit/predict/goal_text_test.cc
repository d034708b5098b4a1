#include "predict/trace/goal_text.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::goal;

TEST(GoalText, IsReadAsItIsMeant) {
  const Program program = goal(
      "num_ranks 2\n"
      "\n"
      "rank 1 {\n"
      "  // a comment\n"
      "\tlast: recv 8b from -1 tag -1 cpu 1 nic 2\r\n"
      "}\n"
      "rank 0 { l1: calc 100 cpu 3 /* two\n lines */ calc 7\n"
      "l2: send 16 b to 1 nic 4 tag 9\n"
      "l2 requires l1\nl2 irequires l1 }");
  ASSERT_EQ(program.ranks.size(), 2u);
  const auto first = program.ranks[0].operations(), second = program.ranks[1].operations();
  ASSERT_EQ(first.size(), 3u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0], (Operation{.amount = 100, .kind = Kind::kCompute, .cpu = 3}));
  EXPECT_EQ(first[1].amount, 7u);
  EXPECT_EQ(std::tuple(first[2].kind, first[2].amount, first[2].peer, first[2].tag, first[2].nic),
            std::tuple(Kind::kSend, 16u, 1u, 9u, 4));
  EXPECT_EQ(second[0], (Operation{.amount = 8,
                                  .peer = kAnySource,
                                  .tag = kAnyTag,
                                  .kind = Kind::kReceive,
                                  .cpu = 1,
                                  .nic = 2}));
  const auto dependents = program.ranks[0].dependents(0);
  ASSERT_EQ(dependents.size(), 2u);
  EXPECT_EQ(dependents[0], Dependent(2, true));
  EXPECT_EQ(dependents[1], Dependent(2, false));
}

TEST(GoalText, IsWrittenForPeopleAndForLogGopSim) {
  const std::string text =
      "num_ranks 2\n"
      "\n"
      "rank 0 {\n"
      "l1: calc 18446744073709551615\n"
      "l2: send 8b to 1 tag 3 cpu 1 nic 2\n"
      "l3: calc 5 cpu 255\n"
      "l2 requires l1\n"
      "l3 irequires l2\n"
      "}\n"
      "\n"
      "rank 1 {\n"
      "l1: recv 8b from -1 tag -1\n"
      "l2: recv 0b from 0 tag 4294967294\n"
      "}\n";
  EXPECT_EQ(print_goal(goal(text)), text);
}

TEST(GoalText, KeepsTheOrderOfDependents) {
  const std::string text =
      "num_ranks 1\n\nrank 0 {\nl1: calc 1\nl2: calc 2\nl3: calc 3\nl4: calc 4\n"
      "l4 irequires l1\nl3 irequires l1\nl3 requires l1\nl2 requires l1\n"
      "l4 requires l2\nl4 requires l2\n}\n";
  EXPECT_EQ(print_goal(goal(text)), text);
  EXPECT_EQ(goal(print_goal(goal(text))), goal(text));
}

struct Broken {
  std::string text, message;
};

TEST(GoalText, RefusesBrokenFilesWithLineAndRemedy) {
  const std::string operations =
      "; write calc NS [cpu N], send SIZEb to RANK [tag N] [cpu N] [nic N], or recv SIZEb from "
      "RANK "
      "[tag N] [cpu N] [nic N]";
  const std::string head = "num_ranks 2\nrank 0 {\n";
  for (const auto& [text, message] : {
           Broken{"",
                  "x.goal:1: expected num_ranks and a number, found the end of the text; a GOAL "
                  "file begins with a line such as \"num_ranks 4\""},
           Broken{"num_ranks 0\n", "x.goal:1: 0 ranks are not possible; write 1 to 16777216"},
           Broken{"num_ranks 2\nrank 5 {\n}\n",
                  "x.goal:2: there is no rank 5 among 2 ranks; correct it, or num_ranks"},
           Broken{"num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n",
                  "x.goal:4: rank 0 is there twice; put all its operations in one block"},
           Broken{"num_ranks 3\nrank 0 {\n}\nrank 2 {\n}\n",
                  "x.goal:6: the text ends after 2 of 3 ranks; add \"rank 1 { }\", or correct "
                  "num_ranks"},
           Broken{head + "calc 1\n", "x.goal:2: rank 0 does not end; close it with }"},
           Broken{head + "jump 8b to 1\n}\n",
                  "x.goal:3: expected ':', 'requires' or 'irequires' after the label 'jump', found "
                  "'8b'" +
                      operations},
           Broken{head + "l1: send 8 to 1\n}\n",
                  "x.goal:3: expected the unit b, found 'to'" + operations},
           Broken{head + "send 8b to\nrecv 8b from 1\n}\n",
                  "x.goal:3: expected a rank, found the end of the line" + operations},
           Broken{head + "send 8b to 2\n}\n",
                  "x.goal:3: there is no rank 2 among 2 ranks; correct it, or num_ranks"},
           Broken{head + "send 8b to -1\n}\n",
                  "x.goal:3: expected a rank, found '-1'" + operations},
           Broken{head + "send 8b to 1 tag -1\n}\n",
                  "x.goal:3: expected a tag from 0 to 4294967294, found '-1'" + operations},
           Broken{head + "calc 1.5\n}\n",
                  "x.goal:3: expected a whole number of nanoseconds, found '1.5'" + operations},
           Broken{head + "calc 18446744073709551616\n}\n",
                  "x.goal:3: expected a whole number of nanoseconds, found '18446744073709551616'" +
                      operations},
           Broken{head + "calc 1 cpu 256\n}\n",
                  "x.goal:3: expected a number from 0 to 255, found '256'" + operations},
           Broken{head + "l1: calc 1\nl1: calc 2\n}\n",
                  "x.goal:4: the label 'l1' is there twice in this rank; rename one of them"},
           Broken{head + "l1: calc 1\nl1 requires l2\nl2: calc 2\n}\n",
                  "x.goal:4: the label 'l2' is not defined above in this rank; define it first"},
           Broken{
               head + "calc 1\n\nl1: calc 1\nl2: calc 1\nl1 requires l2\nl2 irequires l1\n}\n",
               "x.goal:5: this operation of rank 0 waits for itself, directly or through others; "
               "remove one of the dependencies"},
           Broken{head + "/* for ever\n\n", "x.goal:3: the comment does not end; close it with */"},
           Broken{head + "calc 1 \x1b[2J\n}\n",
                  "x.goal:3: expected an operation, a label or '}', found "
                  "'?'" +
                      operations},
       }) {
    const auto read = parse_goal(text, "x.goal");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_EQ(read.error().message, message) << text;
  }
}

}  // namespace
}  // namespace xylem::predict
