// Target timelines by the rules of Table 1 of SimHPC, and its Figure 1.

#include "predict/replay/timeline.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "predict/replay/replay.h"
#include "tests/unit/predict/programs.h"
#include "tests/unit/predict/timelines.h"

namespace xylem::predict {
namespace {

using testing::chain;
using testing::compute;
using testing::goal;
using testing::network;
using testing::receive;
using testing::send;
using testing::Timelines;

using Times = std::vector<std::uint64_t>;

/// o = 10, L = 100; the NIC and the bytes cost nothing, so D of a message is 110.
const LogGps kSlowWire = network(100, 10, 0, 0, 0, 1000);

struct Replayed {
  Prediction prediction;
  Timelines timelines;
};

/// `nodes`: the node of each rank. Ranks on the same node share a core, with slices of 50 ns, and
/// their messages take 20 ns instead of L.
Replayed on_nodes(const Program& program, const std::vector<std::uint32_t>& nodes,
                  const LogGps& parameters = kSlowWire) {
  Replayed replayed;
  std::vector<Node> node_of_rank;
  for (const std::uint32_t it : nodes) node_of_rank.push_back(Node{it});
  const FabricCosts costs(parameters, {}, {Femtoseconds{20'000'000}, Femtoseconds{0}});
  LogGpsNetwork through(costs, nullptr);
  auto prediction =
      replay(program, costs, node_of_rank, through, {1, 50}, {&replayed.timelines, {}});
  EXPECT_TRUE(prediction) << prediction.error().message;
  if (prediction) replayed.prediction = *std::move(prediction);
  return replayed;
}

Replayed on_own_cores(const Program& program, const LogGps& parameters = kSlowWire) {
  Replayed replayed;
  auto prediction = replay(program, parameters, {&replayed.timelines, {}});
  EXPECT_TRUE(prediction) << prediction.error().message;
  if (prediction) replayed.prediction = *std::move(prediction);
  return replayed;
}

// ready -> running: CLK += R, T_ready += R.
TEST(Table1, AReadyRankWaitsForACore) {
  const Program program{{chain({compute(30)}), chain({compute(40)})}};
  const auto shared = on_nodes(program, {0, 0});
  EXPECT_EQ(shared.timelines.of(1), "ready 0-30 compute, run 30-70 compute");
  EXPECT_EQ(shared.prediction.ready_ns, (Times{0, 30}));
  EXPECT_EQ(shared.prediction.end_ns, (Times{30, 70}));
  const auto own = on_nodes(program, {0, 1});
  EXPECT_EQ(own.prediction.ready_ns, (Times{0, 0})) << "R is 0 if the process owns a core";
  EXPECT_EQ(own.prediction.run_ns, shared.prediction.run_ns);
}

// running -> ready: T_run += t - ts, CLK += t - ts.
TEST(Table1, ARankWhoseSliceHasPassedIsReady) {
  const auto shared = on_nodes({{chain({compute(70)}), chain({compute(40)})}}, {0, 0});
  EXPECT_EQ(shared.timelines.of(0), "run 0-50 compute, ready 50-90 compute, run 90-110 compute");
  EXPECT_EQ(shared.prediction.run_ns, (Times{70, 40}));
  EXPECT_EQ(shared.prediction.ready_ns, (Times{40, 50}));
}

// running -> blocked: what is left of D counts as T_IO, and the core is free for others.
TEST(Table1, ABlockedRankGivesItsCoreUp) {
  const auto shared = on_nodes({{chain({compute(10), receive(8, 2), compute(5)}),
                                 chain({compute(40)}), chain({send(8, 0)})}},
                               {0, 0, 1});
  EXPECT_EQ(shared.timelines.of(0),
            "run 0-10 compute, io 10-110 receive 2, run 110-120 receive 2, run 120-125 compute");
  EXPECT_EQ(shared.timelines.of(1), "ready 0-10 compute, run 10-50 compute");
  EXPECT_EQ(shared.prediction.io_ns, (Times{100, 0, 0}));
}

// MPI send/recv: the destination goes on at max(CLK_k, CLK_i + D), and never goes back.
TEST(Table1, AReceiverWaitsForWhatIsLeftOfTheDelay) {
  for (const std::uint64_t work : {0, 60, 109, 110, 500}) {
    const auto own = on_own_cores({{chain({send(8, 1)}), chain({compute(work), receive(8, 0)})}});
    const std::uint64_t arrival = 110;
    EXPECT_EQ(own.prediction.end_ns[1], std::max(work, arrival) + 10) << work;
    EXPECT_EQ(own.prediction.io_ns[1], work < arrival ? arrival - work : 0) << work;
    EXPECT_EQ(own.prediction.io_ns[0], 0u) << "an eager sender does not wait";
    EXPECT_EQ(own.prediction.run_ns, (Times{10, work + 10}));
  }
}

TEST(Table1, ASenderOfARendezvousWaitsToo) {
  const auto own =
      on_own_cores({{chain({send(2000, 1), compute(5)}), chain({compute(300), receive(2000, 0)})}});
  EXPECT_EQ(own.timelines.of(0), "run 0-10 send 1, io 10-300 send 1, run 300-305 compute");
}

// Table 1, note 2 (H14): a delay counts only while the process is blocked.
TEST(Table1, AHiddenDelayIsNoIo) {
  const auto program = [](const std::string& work) {
    return goal("num_ranks 2\nrank 0 {\ns: send 2000b to 1\nc: calc " + work +
                "\nw: calc 0\nc irequires s\nw requires s\nw requires c\n}\n"
                "rank 1 {\nr: recv 2000b from 0\nc: calc " +
                work + "\nw: calc 0\nc irequires r\nw requires r\nw requires c\n}\n");
  };
  EXPECT_EQ(on_own_cores(program("150")).prediction.io_ns, (Times{0, 0}));
  const auto blocked = on_own_cores(program("60"));
  EXPECT_EQ(blocked.prediction.io_ns, (Times{40, 50})) << "only what the computing does not hide";
}

// Other IPC: in the order of the messages, without the network.
TEST(Table1, MessagesInsideANodeDoNotUseTheNetwork) {
  const auto shared =
      on_nodes({{chain({send(8, 1), receive(8, 1)}), chain({receive(8, 0), send(8, 0)})}}, {0, 0});
  EXPECT_EQ(shared.timelines.of(0), "run 0-10 send 1, io 10-70 receive 1, run 70-80 receive 1");
  EXPECT_EQ(shared.timelines.of(1), "io 0-30 receive 0, run 30-40 receive 0, run 40-50 send 0");
}

// H16. Figure 1 of SimHPC: p0 and p1 share a core of the host, and each of three processes owns a
// core of the target. p0 sends to p1, reads a file, and p1 sends to p2. Rank 3 stands for the
// storage here: it answers p0's request after the time of a read. timeline_of_files_test.cc has a
// file.
Program figure_1() {
  return {{chain({compute(80), send(8, 1), compute(30), send(8, 3), receive(8, 3), compute(20)}),
           chain({compute(60), receive(8, 0), compute(50), send(8, 2), compute(10)}),
           chain({compute(70), receive(8, 1), compute(40)}),
           chain({receive(8, 0), compute(200), send(8, 0)})}};
}

TEST(Figure1, OnTheTargetWhereEachProcessOwnsACore) {
  const auto own = on_nodes(figure_1(), {0, 1, 2, 3});
  EXPECT_EQ(own.timelines.of(0),
            "run 0-80 compute, run 80-90 send 1, run 90-120 compute, run 120-130 send 3, "
            "io 130-550 receive 3, run 550-560 receive 3, run 560-580 compute");
  EXPECT_EQ(own.timelines.of(1),
            "run 0-60 compute, io 60-190 receive 0, run 190-200 receive 0, run 200-250 compute, "
            "run 250-260 send 2, run 260-270 compute");
  EXPECT_EQ(own.timelines.of(2),
            "run 0-70 compute, io 70-360 receive 1, run 360-370 receive 1, run 370-410 compute");
  EXPECT_EQ(own.prediction.ready_ns, (Times{0, 0, 0, 0}));
}

TEST(Figure1, OnACoreThatTwoProcessesShareAsOnTheHost) {
  const auto own = on_nodes(figure_1(), {0, 1, 2, 3});
  const auto shared = on_nodes(figure_1(), {0, 0, 2, 3});
  EXPECT_EQ(shared.timelines.of(0),
            "run 0-50 compute, ready 50-100 compute, run 100-130 compute, run 130-140 send 1, "
            "run 140-150 compute, ready 150-200 compute, run 200-220 compute, run 220-230 send 3, "
            "io 230-650 receive 3, run 650-660 receive 3, run 660-680 compute");
  EXPECT_EQ(shared.timelines.of(1),
            "ready 0-50 compute, run 50-100 compute, ready 100-150 compute, run 150-160 compute, "
            "run 160-170 receive 0, run 170-200 compute, ready 200-230 compute, "
            "run 230-250 compute, run 250-260 send 2, run 260-270 compute");
  EXPECT_EQ(shared.prediction.run_ns, own.prediction.run_ns);
  EXPECT_EQ(shared.prediction.ready_ns, (Times{100, 130, 0, 0}));
}

TEST(Timeline, ShowsWhenANicIsBusy) {
  const auto own =
      on_own_cores({{chain({send(8, 1), send(8, 1)}), chain({receive(8, 0), receive(8, 0)})}},
                   network(100, 10, 25, 0, 0, 1000));
  EXPECT_EQ(own.timelines.of(0), "run 0-10 send 1, io 10-25 send 1, run 25-35 send 1");
}

TEST(Timeline, OfSeveralCpusHasTheTimeInWhichOneIsBusy) {
  const auto own = on_own_cores(
      goal("num_ranks 1\nrank 0 {\na: calc 100 cpu 0\nb: calc 60 cpu 1\nc: calc 80 cpu 1\n"
           "c requires b\n}\n"));
  EXPECT_EQ(own.timelines.of(0), "run 0-100 compute, run 100-140 compute");
  EXPECT_EQ(own.prediction.run_ns, (Times{140}));
  EXPECT_EQ(own.prediction.io_ns, (Times{0}));
}

// The parts are rounded so that they add up: 0.6 + 0.6 + 0.6 ns are 1.8 ns, or 2 ns.
TEST(Timeline, RoundsSoThatTheSumsHold) {
  LogGps parameters;
  parameters.overhead = Femtoseconds{600'000};
  parameters.latency = Femtoseconds{600'000};
  parameters.eager_bytes = 1;
  const auto own = on_own_cores(
      {{chain({send(1, 1), receive(1, 1)}), chain({receive(1, 0), send(1, 0)})}}, parameters);
  EXPECT_EQ(own.timelines.ticks_per_ns(), 10u);
  EXPECT_EQ(own.timelines.of(0), "run 0-6 send 1, io 6-30 receive 1, run 30-36 receive 1");
  EXPECT_EQ(own.prediction.end_ns, (Times{4, 2}));
  EXPECT_EQ(own.prediction.run_ns, (Times{1, 1}));
  EXPECT_EQ(own.prediction.io_ns, (Times{3, 1}));
}

TEST(ReplayWatch, MayStopAReplay) {
  std::vector<Operation> many(200'000, compute(1));
  std::vector<std::uint64_t> calls;
  const auto stopped = replay({{chain(many)}}, kSlowWire, {nullptr, [&](std::uint64_t events) {
                                                             calls.push_back(events);
                                                             return calls.size() < 2;
                                                           }});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kUnavailable);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_LT(calls[0], calls[1]);
  EXPECT_LT(calls[1], many.size());
}

}  // namespace
}  // namespace xylem::predict
