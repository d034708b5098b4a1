// Collective actions of time-independent traces: the messages are those of the calls that SimGrid
// means by them.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "predict/replay/replay.h"
#include "predict/trace/collective_messages.h"
#include "predict/trace/ti_trace.h"
#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::network;

Result<Program> parsed(const std::string& text, const TiOptions& options = {}) {
  const std::vector<TiFile> files{{"trace", text}};
  return parse_ti(files, options);
}

/// A call with the bytes of its blocks.
struct Call {
  CollectiveCall call;
  std::vector<std::uint64_t> sizes{}, received_sizes{};
  std::uint64_t compute_ns = 0;
};

/// What rank `rank` of three does in a call.
RankProgram program_of(const Call& of, std::uint32_t rank, const CollectiveModel& model = {}) {
  CollectiveCall call = of.call;
  call.sizes = of.sizes;
  call.received_sizes = of.received_sizes;
  Sequence sequence;
  append_collective(call, {0, 3, {}}, rank, model, sequence);
  if (of.compute_ns > 0) sequence.run(testing::compute(of.compute_ns));
  return std::move(sequence).finish();
}

/// The action, of one rank of three, is this call.
void expect_call(std::uint32_t rank, const std::string& action, const Call& call,
                 const std::string& init = "init") {
  std::string text = "0 " + init + "\n1 " + init + "\n2 " + init + "\n";
  text += std::to_string(rank) + " " + action + "\n";
  const auto read = parsed(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->ranks[rank], program_of(call, rank)) << action;
}

TEST(TiCollectives, OfVectors) {
  expect_call(1, "barrier", {{Collective::kBarrier, 0, 0, 1, {}, {}}});
  expect_call(1, "bcast 1000 2 1", {{Collective::kBcast, 2, 4000, 4, {}, {}}});
  expect_call(0, "bcast 1e3", {{Collective::kBcast, 0, 1000, 1, {}, {}}});
  expect_call(0, "bcast 5", {{Collective::kBcast, 0, 40, 8, {}, {}}}, "init 1");
  expect_call(1, "reduce 5 700 1 0", {{Collective::kReduce, 1, 40, 8, {}, {}}, {}, {}, 700});
  expect_call(2, "allreduce 5 700 0", {{Collective::kAllreduce, 0, 40, 8, {}, {}}, {}, {}, 700});
  expect_call(2, "allReduce 5 0", {{Collective::kAllreduce, 0, 5, 1, {}, {}}});
  expect_call(2, "scan 5 700 1", {{Collective::kScan, 0, 20, 4, {}, {}}, {}, {}, 700});
  expect_call(2, "exscan 5 700 1", {{Collective::kExscan, 0, 20, 4, {}, {}}, {}, {}, 700});
}

TEST(TiCollectives, OfEqualBlocks) {
  expect_call(1, "alltoall 10 20 0 1", {{Collective::kAlltoall, 0, 80, 1, {}, {}}});
  expect_call(1, "allgather 10 20 0 1", {{Collective::kAllgather, 0, 80, 1, {}, {}}});
  // What is received counts only at the root of a gather, what is sent only at that of a scatter.
  expect_call(1, "gather 10 999 2 0 6", {{Collective::kGather, 2, 80, 1, {}, {}}});
  expect_call(2, "gather 0 80 2 0 6", {{Collective::kGather, 2, 80, 1, {}, {}}});
  expect_call(1, "scatter 999 80 2", {{Collective::kScatter, 2, 80, 1, {}, {}}});
  expect_call(0, "scatter 80 0", {{Collective::kScatter, 0, 80, 1, {}, {}}});
}

TEST(TiCollectives, OfBlocksOfDifferentSizes) {
  expect_call(0, "gatherv 9 1 2 3 1 6 0", {{Collective::kGatherv, 1, 0, 1, {}, {}}, {9, 16, 24}});
  expect_call(1, "gatherv 9 1 2 3 1 6 0", {{Collective::kGatherv, 1, 0, 1, {}, {}}, {8, 16, 24}});
  expect_call(0, "scatterv 1 2 3 9 0 1 6", {{Collective::kScatterv, 0, 0, 1, {}, {}}, {4, 8, 12}});
  expect_call(2, "scatterv 1 2 3 9", {{Collective::kScatterv, 0, 0, 1, {}, {}}, {1, 2, 9}});
  for (const char* more : {" 1", " 1 1", " 1 7 7 7", " 7 7 7 1 1"}) {
    expect_call(1, std::string("allgatherv 9 1 2 3") + more,
                {{Collective::kAllgatherv, 0, 0, 1, {}, {}}, {4, 8, 12}});
  }
  for (const char* more : {"", " 7 7 7"}) {
    expect_call(1, std::string("allgatherv 9 1 2 3") + more,
                {{Collective::kAllgatherv, 0, 0, 1, {}, {}}, {1, 2, 3}});
  }
  expect_call(1, "alltoallv 6 1 2 3 9 4 5 6 1 0",
              {{Collective::kAlltoallv, 0, 0, 1, {}, {}}, {4, 8, 12}, {32, 40, 48}});
  expect_call(1, "allToAllV 6 1 2 3 9 4 5 6",
              {{Collective::kAlltoallv, 0, 0, 1, {}, {}}, {1, 2, 3}, {4, 5, 6}});
  expect_call(2, "reducescatter 1 2 3 700 0",
              {{Collective::kReduceScatter, 0, 0, 8, {}, {}}, {8, 16, 24}, {}, 700});
}

TEST(TiCollectives, GoThroughTheAlgorithmAndTheSpeedOfTheTarget) {
  TiOptions options;
  options.flops_per_ns = 2;
  options.collectives.choice.fix(Collective::kAllreduce, Algorithm::kLinear);
  options.collectives.reduce_fs_per_byte = 1'000'000;
  const auto read = parsed("0 allreduce 8 100\n1 allreduce 8 100\n2 allreduce 8 100\n", options);
  ASSERT_TRUE(read) << read.error().message;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(read->ranks[rank], program_of({{Collective::kAllreduce, 0, 8, 1, {}, {}}, {}, {}, 50},
                                            rank, options.collectives));
  }
}

TEST(TiCollectives, MixWithMessagesAndCanBeWritten) {
  std::string text;
  for (int rank = 0; rank < 3; ++rank) {
    const std::string head = std::to_string(rank) + " ";
    const std::string gets = " " + std::to_string(10 * (rank + 1));
    text += head + "init\n" + head + "isend " + std::to_string((rank + 1) % 3) + " 5 100\n" + head +
            "recv " + std::to_string((rank + 2) % 3) + " 5 100\n" + head + "waitall\n" + head +
            "allgather 100 100\n" + head + "alltoallv 300 10 20 30 60" + gets + gets + gets + "\n" +
            head + "bcast 20000 1\n" + head + "barrier\n";
  }
  const auto read = parsed(text);
  ASSERT_TRUE(read) << read.error().message;
  const auto prediction = replay(*read, network(100, 10, 5, 1, 0, 50));
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(prediction->unreceived, 0u);
  const auto printed = print_ti(*read);
  ASSERT_TRUE(printed) << printed.error().message;
  const auto again = parsed(*printed);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *read);
}

TEST(TiCollectives, AreRefusedWithLineAndRemedy) {
  for (const auto& [action, message] : {
           std::pair<std::string, std::string>{
               "barrier 5",
               "'barrier' needs no argument, not 1 argument; write for example, with 2 ranks, \"0 "
               "barrier\""},
           {"bcast",
            "'bcast' needs a number of elements, and optionally root and type, not 0 arguments; "
            "write for example, with 2 ranks, \"0 bcast 8 0 6\""},
           {"bcast x", "'x' is not a number of elements; write a whole number"},
           {"bcast -5", "'-5' is not a number of elements; write a whole number"},
           {"bcast 5 2", "there is no rank '2' among 2 ranks; correct the root"},
           {"bcast 5 0 99", "'99' is not the number of a basic type; write 6 for bytes"},
           {"bcast 18446744073709551615 0 0",
            "18446744073709551615 elements have more than 2^64 bytes; write a smaller number"},
           {"reduce 5 nan", "'nan' is not a number of flops, at most 2^64 ns; write a number"},
           {"alltoallv 2 1 1 2 1",
            "'alltoallv' needs the size of the buffer and a number of elements for each rank, both "
            "for what is sent and for what is received, and optionally their types, not 5 "
            "arguments; write for example, with 2 ranks, \"0 alltoallv 16 8 8 16 8 8 6 6\""},
           {"reducescatter 1 2",
            "'reducescatter' needs a number of elements for each rank, flops, and optionally a "
            "type, not 2 arguments; write for example, with 2 ranks, \"0 reducescatter 8 8 100 "
            "6\""},
           {"gatherv 5 6 x", "'x' is not a number of elements; write a whole number"},
       }) {
    const auto read = parsed("0 init\n1 init\n1 " + action + "\n");
    ASSERT_FALSE(read) << action;
    EXPECT_EQ(read.error().message, "trace:3: " + message);
  }
}

TEST(TiCollectives, CannotMakeAnyNumberOfOperations) {
  std::string text;
  for (int rank = 0; rank < 100; ++rank) text += std::to_string(rank) + " alltoall 1 1\n";
  TiOptions options;
  options.max_collective_operations = 1000;
  const auto read = parsed(text, options);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            "trace:18: the collective actions of the trace make more than 1000 operations; trace "
            "fewer ranks, or shorten the trace");
}

TEST(TiCollectives, DoNotShareTagsWithMessages) {
  const std::string message = "0 init\n0 isend 0 1073741824 5\n0 recv 0 1073741824 5\n";
  EXPECT_TRUE(parsed(message));
  const auto read = parsed(message + "0 barrier\n");
  ASSERT_FALSE(read);
  EXPECT_EQ(
      read.error().message,
      "trace:2: tags of a trace with collective actions are below 1073741824; correct the tag "
      "1073741824");
}

TEST(TiCollectives, AReceiveOfAnyTagTakesNoMessageOfACollectiveCall) {
  std::string text;
  for (int rank = 0; rank < 2; ++rank) text += std::to_string(rank) + " init\n";
  // Rank 0 posts its receive before the broadcast, whose message comes first.
  text += "0 irecv 1 -1 8\n0 bcast 8 1\n0 waitall\n0 finalize\n";
  text += "1 bcast 8 1\n1 send 0 7 8\n1 finalize\n";
  const auto program = parsed(text);
  ASSERT_TRUE(program) << program.error().message;
  const auto prediction = replay(*program, testing::network(2500, 1500, 1000, 6, 0, 65535));
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(prediction->messages, 2u);
  EXPECT_EQ(prediction->unreceived, 0u);
}

}  // namespace
}  // namespace xylem::predict
