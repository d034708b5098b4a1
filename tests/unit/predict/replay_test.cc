// Replays whose result has a closed formula.

#include "predict/replay/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::chain;
using testing::compute;
using testing::finished;
using testing::goal;
using testing::network;
using testing::receive;
using testing::send;

Prediction predicted(const Program& program, const LogGps& parameters) {
  auto prediction = replay(program, parameters);
  EXPECT_TRUE(prediction) << prediction.error().message;
  return prediction ? *std::move(prediction) : Prediction{};
}

Program of(std::vector<RankProgram> ranks) { return Program{std::move(ranks)}; }

using Ends = std::vector<std::uint64_t>;

TEST(Replay, OfNothingTakesNoTime) {
  EXPECT_EQ(predicted(Program{}, LogGps{}).makespan_ns, 0u);
  EXPECT_EQ(predicted(of({RankProgram(), RankProgram()}), LogGps{}).end_ns, (Ends{0, 0}));
}

TEST(Replay, ComputesInARow) {
  const auto prediction = predicted(of({chain({compute(5), compute(7)}), chain({compute(3)})}),
                                    network(100, 10, 10, 1, 1, 1));
  EXPECT_EQ(prediction.end_ns, (Ends{12, 3}));
  EXPECT_EQ(prediction.run_ns, (Ends{12, 3}));
  EXPECT_EQ(prediction.makespan_ns, 12u);
  EXPECT_EQ(prediction.events, 3u);
  EXPECT_EQ(prediction.messages, 0u);
}

// o + L + o + (s-1) max(O, G); the sender is done after o + (s-1)O.
TEST(Replay, PingsByTheFormula) {
  for (const std::uint64_t bytes : {0, 1, 2, 100}) {
    const std::uint64_t more = bytes > 0 ? bytes - 1 : 0;
    for (const auto& [G, O] : {std::pair<std::uint64_t, std::uint64_t>{6, 2}, {2, 6}}) {
      const auto prediction = predicted(of({chain({send(bytes, 1)}), chain({receive(bytes, 0)})}),
                                        network(2500, 1500, 1000, G, O, 1000));
      EXPECT_EQ(prediction.end_ns, (Ends{1500 + more * O, 1500 + 2500 + 1500 + more * 6}));
      EXPECT_EQ(prediction.events, 3u);
      EXPECT_EQ(prediction.messages, 1u);
    }
  }
}

TEST(Replay, ChargesTheReceiverAtArrivalWhetherItWaitsOrNot) {
  const LogGps of_network = network(100, 10, 0, 0, 0, 1000);
  // The message arrives at 110, while the receiver computes.
  EXPECT_EQ(
      predicted(of({chain({send(1, 1)}), chain({compute(500), receive(1, 0)})}), of_network).end_ns,
      (Ends{10, 510}));
  // It arrives before the computing starts, and delays it.
  EXPECT_EQ(predicted(of({chain({send(1, 1)}),
                          chain({compute(105), compute(50), receive(1, 0), compute(1)})}),
                      of_network)
                .end_ns,
            (Ends{10, 166}));
}

TEST(Replay, MessagesShareTheSendersNic) {
  // g + (s-1)G = 1000 + 9 * 10 from one start to the next, although the processor is free earlier.
  EXPECT_EQ(
      predicted(of({chain({send(10, 1), send(10, 1)}), chain({receive(10, 0), receive(10, 0)})}),
                network(100, 5, 1000, 10, 0, 1000))
          .end_ns,
      (Ends{1095, 1090 + 5 + 100 + 5 + 90}));
}

TEST(Replay, ARendezvousEndsAtTheMatch) {
  const LogGps of_network = network(100, 10, 0, 0, 0, 7);
  // Receive posted first: the match is the arrival, at 110.
  EXPECT_EQ(
      predicted(of({chain({send(8, 1), compute(1)}), chain({receive(8, 0)})}), of_network).end_ns,
      (Ends{111, 120}));
  // Receive posted at 500: this is the match. The message was taken at arrival's first chance.
  EXPECT_EQ(predicted(of({chain({send(8, 1), compute(1)}), chain({compute(500), receive(8, 0)})}),
                      of_network)
                .end_ns,
            (Ends{501, 510}));
  // One byte less is eager.
  EXPECT_EQ(predicted(of({chain({send(7, 1), compute(1)}), chain({compute(500), receive(7, 0)})}),
                      of_network)
                .end_ns,
            (Ends{11, 510}));
}

TEST(Replay, TheMessageDecidesWhetherItIsEager) {
  // The receive's buffer is larger than the message.
  EXPECT_EQ(predicted(of({chain({send(7, 1), compute(1)}), chain({compute(500), receive(99, 0)})}),
                      network(100, 10, 0, 0, 0, 7))
                .end_ns,
            (Ends{11, 510}));
}

Program ring_step(std::uint32_t ranks, std::uint64_t bytes) {
  Program program;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    RankBuilder builder;
    builder.add(send(bytes, (rank + 1) % ranks));
    builder.add(receive(bytes, (rank + ranks - 1) % ranks));
    program.ranks.push_back(finished(std::move(builder)));
  }
  return program;
}

TEST(Replay, ARingStepOf8KibTakes54646Ns) {
  for (const std::uint32_t ranks : {2u, 3u, 64u}) {
    const auto prediction =
        predicted(ring_step(ranks, 8192), network(2500, 1500, 1000, 6, 0, 65535));
    EXPECT_EQ(prediction.makespan_ns, 54'646u);
    EXPECT_EQ(prediction.end_ns, Ends(ranks, 54'646));
    EXPECT_EQ(prediction.events, 3u * ranks);
  }
}

TEST(Replay, CountsFractionsExactly) {
  LogGps of_network = network(2500, 1500, 1000, 0, 0, 65535);
  of_network.gap_per_byte = Femtoseconds{123'457};  // 0.123457 ns; 8191 bytes take 1011.236287 ns.
  EXPECT_EQ(predicted(ring_step(4, 8192), of_network).makespan_ns, 5500u + 1011);
  of_network.latency = Femtoseconds{2500'263'713};  // Together 6511.5 ns.
  EXPECT_EQ(predicted(ring_step(4, 8192), of_network).makespan_ns, 6512u);
}

// A token goes round: each hop takes 2o + L + (s-1)G.
TEST(Replay, ATokenRingTakesTheSumOfItsHops) {
  constexpr std::uint32_t kRanks = 17;
  Program program;
  program.ranks.push_back(chain({send(100, 1), receive(100, kRanks - 1)}));
  for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
    program.ranks.push_back(chain({receive(100, rank - 1), send(100, (rank + 1) % kRanks)}));
  }
  EXPECT_EQ(predicted(program, network(2500, 1500, 1000, 6, 0, 65535)).makespan_ns,
            kRanks * (2 * 1500u + 2500 + 99 * 6));
  EXPECT_EQ(predicted(program, network(2500, 1500, 1000, 6, 0, 10)).makespan_ns,
            kRanks * (2 * 1500u + 2500 + 99 * 6))
      << "all receives are posted in time, so rendezvous costs nothing";
}

/// In step k, 2^k ranks have the byte and send it on: to the most distant rank first.
Program binomial_broadcast(std::uint32_t steps) {
  Program program;
  const std::uint32_t ranks = 1u << steps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<Operation> operations;
    const std::uint32_t lowest = rank == 0 ? ranks : rank & -rank;
    if (rank != 0) operations.push_back(receive(1, rank - lowest));
    for (std::uint32_t distance = lowest / 2; distance > 0; distance /= 2) {
      operations.push_back(send(1, rank + distance));
    }
    program.ranks.push_back(chain(operations));
  }
  return program;
}

TEST(Replay, ABinomialBroadcastTakesItsDepthOrTheRootsSends) {
  for (const std::uint32_t steps : {1u, 2u, 5u, 10u}) {
    const Program program = binomial_broadcast(steps);
    // A hop takes 2o + L = 5500. With a smaller gap, the deepest path is the longest.
    EXPECT_EQ(predicted(program, network(2500, 1500, 1000, 6, 0, 65535)).makespan_ns,
              steps * 5500u);
    // With a larger gap, the root's last send.
    EXPECT_EQ(predicted(program, network(2500, 1500, 9000, 6, 0, 65535)).makespan_ns,
              (steps - 1) * 9000u + 5500);
  }
}

TEST(Replay, StartsSendsBeforeReceivesBeforeComputing) {
  // All three are free at 0. The send goes first, so computing is delayed by o.
  const Program program = goal(
      "num_ranks 2\n"
      "rank 0 {\ncalc 100\nrecv 1b from 1\nsend 1b to 1\n}\n"
      "rank 1 {\nl1: recv 1b from 0\nl2: send 1b to 0\nl2 requires l1\n}\n");
  EXPECT_EQ(predicted(program, network(1000, 10, 0, 0, 0, 8)).end_ns,
            (Ends{10 + 1000 + 10 + 10 + 1000 + 10, 1030}));
}

TEST(Replay, IrequiresWaitsForTheStartOnly) {
  const std::string head = "num_ranks 2\nrank 0 {\nl1: recv 1b from 1\nl2: calc 50\n";
  const std::string tail = "}\nrank 1 {\nl1: calc 300\nl2: send 1b to 0\nl2 requires l1\n}\n";
  const LogGps of_network = network(100, 10, 0, 0, 0, 8);
  EXPECT_EQ(predicted(goal(head + "l2 irequires l1\n" + tail), of_network).end_ns,
            (Ends{420, 310}));
  EXPECT_EQ(predicted(goal(head + "l2 requires l1\n" + tail), of_network).end_ns, (Ends{470, 310}));
}

TEST(Replay, ProcessorsAndNicsOfARankWorkSideBySide) {
  const LogGps of_network = network(100, 10, 500, 0, 0, 8);
  EXPECT_EQ(
      predicted(goal("num_ranks 1\nrank 0 {\ncalc 70 cpu 0\ncalc 90 cpu 255\n}\n"), of_network)
          .end_ns,
      (Ends{90}));
  EXPECT_EQ(predicted(goal("num_ranks 2\nrank 0 {\nsend 1b to 1 nic 0\nsend 1b to 1 nic 7\n}\n"
                           "rank 1 {\nrecv 1b from 0\nrecv 1b from 0\n}\n"),
                      of_network)
                .end_ns,
            (Ends{20, 130}));
}

TEST(Replay, AnOperationWaitsForOneOnAnotherProcessor) {
  const LogGps of_network = network(100, 10, 0, 0, 0, 8);
  EXPECT_EQ(
      predicted(goal("num_ranks 1\nrank 0 {\nl1: calc 70\nl2: calc 5 cpu 1\nl2 requires l1\n}\n"),
                of_network)
          .end_ns,
      (Ends{75}));
  // The one that was freed last is not the one that ends last.
  EXPECT_EQ(
      predicted(goal("num_ranks 1\nrank 0 {\nl1: calc 100\nl2: calc 5 cpu 1\nl3: calc 5 cpu 1\n"
                     "l4: calc 7 cpu 2\nl3 requires l2\nl4 requires l1\nl4 requires l3\n}\n"),
                of_network)
          .end_ns,
      (Ends{107}));
}

TEST(Replay, MatchesWildcardsInTheOrderOfArrival) {
  const Program program = goal(
      "num_ranks 3\n"
      "rank 0 {\nl1: calc 1000\nl2: recv 1b from -1 tag 5\nl3: recv 1b from 1 tag -1\nl4: recv 1b "
      "from -1 "
      "tag -1\nl2 requires l1\nl3 requires l2\nl4 requires l3\n}\n"
      "rank 1 {\nl1: send 1b to 0 tag 4\nl2: send 1b to 0 tag 5\nl2 requires l1\n}\n"
      "rank 2 {\nl1: calc 500\nl2: send 1b to 0 tag 5\nl2 requires l1\n}\n");
  const auto prediction = predicted(program, network(100, 10, 0, 0, 0, 8));
  EXPECT_EQ(prediction.unreceived, 0u);
  EXPECT_EQ(prediction.messages, 3u);
}

TEST(Replay, TheReceiveThatWasPostedFirstGetsTheMessage) {
  // Without order, the message with tag 1 would go to the second receive, and the first never
  // match.
  const Program program = goal(
      "num_ranks 2\n"
      "rank 0 {\nl1: recv 1b from -1 tag -1\nl2: recv 1b from 1 tag 1\n}\n"
      "rank 1 {\nl1: calc 50\nl2: send 1b to 0 tag 1\nl3: send 1b to 0 tag 1\nl2 requires l1\nl3 "
      "requires l2\n}\n");
  EXPECT_EQ(predicted(program, network(100, 10, 0, 0, 0, 8)).unreceived, 0u);
}

TEST(Replay, NamesRanksAndOperationsOfADeadlock) {
  const auto stuck = replay(of({chain({compute(1), receive(8, 1, 7), send(1, 1)}),
                                chain({send(100, 0, 6)}), chain({compute(1)})}),
                            network(100, 10, 0, 0, 0, 50));
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().code, Code::kInvalidArgument);
  EXPECT_EQ(
      stuck.error().message,
      "ranks wait forever: rank 0, operation 2: receive of 8 bytes from rank 1, tag 7 (no message "
      "matches); rank 1, operation 1: send of 100 bytes to rank 0, tag 6 (no receive matches). "
      "Each "
      "receive needs a send of its source with its tag, and each send of more than eager_bytes "
      "needs a receive");
}

TEST(Replay, NamesFiveOperationsOfALargeDeadlock) {
  Program program;
  for (int rank = 0; rank < 9; ++rank) {
    program.ranks.push_back(chain({receive(1, kAnySource, kAnyTag)}));
  }
  const auto stuck = replay(program, network(1, 1, 1, 1, 1, 1));
  ASSERT_FALSE(stuck);
  EXPECT_NE(
      stuck.error().message.find("rank 4, operation 1: receive of 1 bytes from rank any, tag any"),
      std::string::npos)
      << stuck.error().message;
  EXPECT_EQ(stuck.error().message.find("rank 5"), std::string::npos);
  EXPECT_NE(stuck.error().message.find("; and 4 more. "), std::string::npos);
}

TEST(Replay, CountsEagerMessagesThatNobodyReceives) {
  const auto prediction = predicted(of({chain({send(3, 1), send(4, 1)}), RankProgram()}),
                                    network(100, 10, 0, 0, 0, 50));
  EXPECT_EQ(prediction.unreceived, 2u);
  EXPECT_EQ(prediction.first_unreceived, "rank 0, operation 1: send of 3 bytes to rank 1, tag 0");
  EXPECT_EQ(prediction.end_ns, (Ends{20, 130}));
}

TEST(Replay, RefusesTimesThatDoNotFit) {
  const auto endless = replay(of({chain({compute(~0ULL), compute(1)})}), network(1, 1, 1, 1, 1, 1));
  ASSERT_FALSE(endless);
  EXPECT_NE(endless.error().message.find("longer than"), std::string::npos);
  EXPECT_FALSE(replay(of({chain({compute(~0ULL)})}), network(1, 1, 1, 1, 1, 1)));
  EXPECT_FALSE(replay(of({chain({send(~0ULL, 0)}), chain({})}), network(1, 1, 1, 1, 1, 1)));
}

TEST(Replay, RefusesTooManyClocks) {
  std::string text = "num_ranks 1100\nrank 0 {\n";
  for (int pair = 0; pair < 256 * 256; ++pair) {
    text += "send 1b to 0 cpu " + std::to_string(pair / 256) + " nic " +
            std::to_string(pair % 256) + "\n";
  }
  text += "}\n";
  for (int rank = 1; rank < 1100; ++rank) text += "rank " + std::to_string(rank) + " { }\n";
  const auto refused = replay(goal(text), network(1, 1, 1, 1, 1, 1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("65536 combinations of CPU and NIC numbers"),
            std::string::npos);
}

TEST(Replay, TakesManyMessagesOfOneRankInTheOrderOfTheirSends) {
  // n messages wait at one receiver. It takes them one by one: the last ends after n overheads.
  constexpr std::uint32_t kSenders = 3000;
  Program program;
  RankBuilder builder;
  for (std::uint32_t sender = 1; sender <= kSenders; ++sender) builder.add(receive(1, sender));
  program.ranks.push_back(finished(std::move(builder)));
  for (std::uint32_t sender = 1; sender <= kSenders; ++sender) {
    program.ranks.push_back(chain({send(1, 0)}));
  }
  EXPECT_EQ(predicted(program, network(2500, 1500, 1000, 6, 0, 65535)).end_ns[0],
            4000u + kSenders * 1500u);
}

}  // namespace
}  // namespace xylem::predict
