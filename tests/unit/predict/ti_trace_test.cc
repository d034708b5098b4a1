#include "predict/trace/ti_trace.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "predict/replay/replay.h"
#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::chain;
using testing::compute;
using testing::goal;
using testing::network;
using testing::receive;
using testing::send;

Result<Program> trace(const std::string& text) {
  const std::vector<TiFile> files{{"trace", text}};
  return parse_ti(files);
}

Program read_trace(const std::string& text) {
  auto program = trace(text);
  EXPECT_TRUE(program) << program.error().message << "\n" << text;
  return program ? *std::move(program) : Program{};
}

TEST(TiTrace, BlockingActionsAreAChain) {
  const Program program = read_trace(
      "0 init\n# a comment\n1 init\n\n0 compute 1000\n0 send 1 3 8\n0 sleep 0.5\n1\trecv 0 3 8 "
      "6\r\n"
      "0 comm_size 2\n0 finalize\n1 finalize");
  EXPECT_EQ(program, (Program{{chain({compute(1000), send(8, 1, 3), compute(500'000'000)}),
                               chain({receive(8, 0, 3)})}}));
}

TEST(TiTrace, ImmediateActionsAndWaitsAreDependencies) {
  EXPECT_EQ(
      read_trace("1 init\n0 irecv 1 4 8\n0 isend 1 3 8\n0 compute 5\n0 wait 1 0 4\n0 compute 6\n"
                 "0 waitall\n0 isend 1 3 9\n0 waitall\n"),
      goal("num_ranks 2\n"
           "rank 0 {\n"
           "l1: recv 8b from 1 tag 4\n"
           "l2: send 8b to 1 tag 3\n"
           "l3: calc 5\n"
           "l4: calc 0\n"
           "l5: calc 6\n"
           "l6: calc 0\n"
           "l7: send 9b to 1 tag 3\n"
           "l8: calc 0\n"
           "l2 irequires l1\n"
           "l3 irequires l2\n"
           "l4 requires l3\n"
           "l4 requires l1\n"
           "l5 requires l4\n"
           "l6 requires l5\n"
           "l6 requires l2\n"
           "l7 requires l6\n"
           "l8 requires l7\n"
           "}\n"
           "rank 1 { }\n"));
}

TEST(TiTrace, HasElementsOfTypesAndWildcards) {
  const Program program = read_trace(
      "0 init 1\n0 send 0 1 3\n0 send 0 1 3 1\n0 send 0 1 3 26\n0 recv -555 -444 -1\n0 recv -1 -1 "
      "2.4e1 "
      "6\n");
  EXPECT_EQ(program.ranks[0],
            chain({send(24, 0, 1), send(12, 0, 1), send(48, 0, 1), receive(0, kAnySource, kAnyTag),
                   receive(24, kAnySource, kAnyTag)}));
}

TEST(TiTrace, ConvertsFlops) {
  const std::vector<TiFile> files{{"trace", "0 compute 1e9\n0 compute 7\n"}};
  const auto program = parse_ti(files, TiOptions{4, {}});
  ASSERT_TRUE(program);
  EXPECT_EQ(program->ranks[0], chain({compute(250'000'000), compute(2)}));
}

TEST(TiTrace, MayHaveAFilePerRank) {
  const std::vector<TiFile> files{{"a", "0 send 1 0 5\n"}, {"b", "1 recv 0 0 5\n"}};
  const auto program = parse_ti(files);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(*program, (Program{{chain({send(5, 1)}), chain({receive(5, 0)})}}));
  const std::vector<TiFile> mixed{{"a", "0 send 1 0 5\n"}, {"b", "\n0 recv 0 0 5\n"}};
  const auto refused = parse_ti(mixed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "b:2: the line is about rank 0, but the file about rank 1; list the files in the order of "
      "their ranks");
}

TEST(TiTrace, IsWrittenAsItIsRead) {
  const std::string text =
      "0 init\n0 irecv -555 -444 8\n0 irecv 1 4 8\n0 isend 1 3 8\n0 waitall\n0 compute "
      "18446744073709551615\n0 send 1 3 9\n0 finalize\n"
      "1 init\n1 isend 0 4 8\n1 compute 5\n1 isend 0 4 9\n1 wait 1 0 4\n1 compute 1\n1 wait 1 0 "
      "4\n1 recv 0 "
      "3 0\n1 finalize\n";
  const auto printed = print_ti(read_trace(text));
  ASSERT_TRUE(printed) << printed.error().message;
  EXPECT_EQ(*printed, text);
}

std::string random_trace(std::mt19937& random) {
  const auto below = [&](std::uint64_t limit) { return std::to_string(random() % limit); };
  const std::uint64_t ranks = 1 + random() % 3;
  std::string text;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    const std::string start = std::to_string(rank) + " ";
    text += start + "init\n";
    std::vector<std::string> open;
    for (std::uint64_t lines = random() % 30; lines > 0; --lines) {
      const std::string peer = below(ranks), tag = below(2);
      switch (random() % 7) {
        case 0:
          text += start + "compute " + below(1000) + "\n";
          break;
        case 1:
          text += start + "send " + peer + " " + tag + " " + below(100) + "\n";
          break;
        case 2:
          text += start + "recv " + peer + " " + tag + " " + below(100) + "\n";
          break;
        case 3:
          text += start + "isend " + peer + " " + tag + " " + below(100) + "\n";
          open.push_back(start + "wait " + std::to_string(rank) + " " + peer + " " + tag + "\n");
          break;
        case 4:
          text += start + "irecv " + peer + " " + tag + " " + below(100) + "\n";
          open.push_back(start + "wait " + peer + " " + std::to_string(rank) + " " + tag + "\n");
          break;
        case 5:
          text += start + "waitall\n";
          open.clear();
          break;
        case 6:
          if (open.empty()) break;
          const std::size_t which = random() % open.size();
          text += open[which];
          open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
          break;
      }
    }
  }
  return text;
}

TEST(TiTrace, KeepsEachProgramThatItExpressed) {
  std::mt19937 random(20251125);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 2000; ++trial) {
    const std::string text = random_trace(random);
    const Program program = read_trace(text);
    const auto printed = print_ti(program);
    ASSERT_TRUE(printed) << printed.error().message << "\n" << text;
    ASSERT_EQ(read_trace(*printed), program) << text << "\nprinted:\n" << *printed;
  }
}

TEST(TiTrace, AndGoalAndTheProgramTakeTheSameTime) {
  const Program program = read_trace(
      "0 isend 1 0 100\n0 irecv 1 0 100\n0 compute 5000\n0 waitall\n1 compute 100\n1 isend 0 0 "
      "100\n1 irecv 0 "
      "0 100\n1 waitall\n");
  const LogGps parameters = network(2500, 1500, 1000, 6, 0, 50);
  const auto prediction = replay(program, parameters);
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(*replay(goal(print_goal(program)), parameters), *prediction);
  EXPECT_EQ(*replay(read_trace(*print_ti(program)), parameters), *prediction);
}

TEST(TiTrace, RefusesToWriteWhatATraceCannotSay) {
  for (const char* operations :
       {"calc 1 cpu 1\n", "recv 1b from 0 nic 1\n", "calc 1\ncalc 2\n",
        "l1: calc 1\nl2: calc 2\nl2 irequires l1\n",
        "l1: calc 1\nl2: calc 2\nl3: calc 0\nl2 requires l1\nl3 requires l1\n"}) {
    const auto printed =
        print_ti(goal(std::string("num_ranks 1\nrank 0 {\n") + operations + "}\n"));
    ASSERT_FALSE(printed) << operations;
    EXPECT_TRUE(printed.error().message.starts_with("rank 0, operation "))
        << printed.error().message;
    EXPECT_TRUE(printed.error().message.ends_with("write the program as GOAL"));
  }
}

TEST(TiTrace, RefusesToWriteAnotherMode) {
  Program program =
      goal("num_ranks 2\nrank 0 {\nl1: calc 1\nl2: send 8b to 1\nl2 requires l1\n}\nrank 1 { }\n");
  ASSERT_TRUE(print_ti(program));
  std::vector<Operation> operations(program.ranks[0].operations().begin(),
                                    program.ranks[0].operations().end());
  operations[1].synchronous = true;
  program.ranks[0] = RankProgram(operations, {});
  const auto printed = print_ti(program);
  ASSERT_FALSE(printed);
  EXPECT_TRUE(printed.error().message.starts_with("rank 0, operation 2"))
      << printed.error().message;
}

TEST(TiTrace, RefusesBrokenFilesWithLineAndRemedy) {
  const std::string example = "; write for example \"0 ";
  for (const auto& [text, message] : {
           std::pair<std::string, std::string>{
               "", "trace:1: the trace has 0 ranks; write 1 to 16777216"},
           {"0 init\n2 init\n",
            "trace:1: the trace has rank 2, but no line of rank 1; add \"1 init\", or complete the "
            "trace"},
           {"0 init\np0 compute 5\n",
            "trace:2: expected a rank, found 'p0'; a line is RANK ACTION ARGUMENTS, for example "
            "\"0 compute "
            "1000\""},
           {"0\n", "trace:1: the line has no action; remove it, or complete it"},
           {"0 jump 5\n",
            "trace:1: the action 'jump' is not known; known are compute, sleep, send, isend, "
            "recv, irecv, wait, waitall and the collective ones, such as bcast"},
           {"0 compute\n", "trace:1: 'compute' needs a number of flops, at most 2^64 ns" + example +
                               "compute 1000\""},
           {"0 compute -5\n", "trace:1: 'compute' needs a number of flops, at most 2^64 ns" +
                                  example + "compute 1000\""},
           {"0 sleep 1e30\n", "trace:1: 'sleep' needs a number of seconds, at most 2^64 ns" +
                                  example + "sleep 1000\""},
           {"0 compute nan\n", "trace:1: 'compute' needs a number of flops, at most 2^64 ns" +
                                   example + "compute 1000\""},
           {"0 send 0 3\n",
            "trace:1: 'send' needs destination, tag, number of elements and optionally a "
            "type" +
                example + "send 1 3 8\""},
           {"0 irecv 1 0 8\n", "trace:1: there is no rank '1' among 1 ranks; correct it"},
           {"0 send -555 0 8\n", "trace:1: there is no rank '-555' among 1 ranks; correct it"},
           {"0 send 0 -3 8\n", "trace:1: '-3' is not a tag; write a number from 0 to 4294967294"},
           {"0 send 0 0 x\n", "trace:1: 'x' is not a number of elements; write a whole number"},
           {"0 send 0 0 18446744073709551615 0\n",
            "trace:1: '18446744073709551615' is not a number of elements; write a whole number"},
           {"0 send 0 0 8 30\n",
            "trace:1: '30' is not the number of a basic type; write 6 for bytes"},
           {"0 wait 0\n", "trace:1: 'wait' needs source, destination and tag of a request" +
                              example + "wait 1 0 3\""},
           {"0 isend 0 0 8\n0 wait 0 0 0\n0 wait 0 0 0\n",
            "trace:3: no open request has this source, destination and tag; add its isend or irecv "
            "above"},
       }) {
    const auto read = trace(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_EQ(read.error().message, message) << text;
  }
}

TEST(TiList, NamesFiles) {
  const auto files = parse_ti_list("\n a/0.txt \r\nb c.txt", "list");
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(*files, (std::vector<std::string>{"a/0.txt", "b c.txt"}));
  const auto empty = parse_ti_list(" \n\n", "list");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().message,
            "list:1: the list names no file; write the trace files, one a line");
  const auto binary = parse_ti_list(std::string("SQLite format 3\0\x10", 17), "list");
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().message,
            "list:1: this is not the name of a file; give a list of trace files, one a line");
}

}  // namespace
}  // namespace xylem::predict
