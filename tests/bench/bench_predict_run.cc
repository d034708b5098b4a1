// How many messages a second `xylem predict` handles if the program is a recorded run.
//
//   bench_predict_run [MESSAGES]
//
// Writes runs of 4, 64 and 1024 ranks to a temporary folder: rings in which each rank computes,
// posts a receive, sends, and waits, with MESSAGES messages (1 million). Then opens the file, makes
// a program and replays it with the model loggps. Times are CPU times of this thread, the least of
// three. The bar is 1 million messages a second, reading and the check of the trace included. The
// floor is the replay alone.

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "predict/replay/replay.h"
#include "predict/source/run_program.h"
#include "storage/read/query.h"
#include "tests/unit/predict/programs.h"
#include "tests/unit/storage/packets.h"

namespace xylem::predict {
namespace {

constexpr double kBar = 1e6;
constexpr int kPasses = 3;
constexpr FunctionId kSend{0}, kIrecv{1}, kWait{2};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The events of a rank of the ring.
std::vector<wire::Event> events_of(std::uint32_t rank, std::uint32_t ranks, std::uint64_t steps) {
  std::vector<wire::Event> events;
  Nanos now = 1000;
  const auto add = [&](FunctionId function, Nanos length, std::uint16_t flags, std::uint32_t peer,
                       std::uint64_t step) {
    wire::Event made;
    made.begin_ns = now;
    made.end_ns = now += length;
    made.function = function;
    made.comm = wire::kCommWorld;
    made.flags = flags;
    made.peer = static_cast<std::int32_t>(peer);
    made.tag = 7;
    made.bytes = 1024;
    if ((flags & (wire::kEventSend | wire::kEventReceive)) != 0) {
      made.flags |= wire::kEventNumbered;
      made.number = static_cast<std::uint32_t>(step);
    }
    if (function != kSend) made.request = step + 1;
    events.push_back(made);
  };
  const std::uint32_t left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  for (std::uint64_t step = 0; step < steps; ++step) {
    now += 2000 + static_cast<Nanos>(step * 7919 % 1000);
    add(kIrecv, 150, wire::kEventPosts, left, step);
    add(kSend, 400, wire::kEventSend, right, step);
    add(kWait, 900, wire::kEventCompletes | wire::kEventReceive, left, step);
  }
  return events;
}

void write_run(const std::string& path, std::uint32_t ranks, std::uint64_t messages) {
  storage::SqliteOptions options;
  options.path = path;
  options.overwrite = true;
  auto store = storage::make_sqlite_store(options);
  CHECK(store);
  CHECK((*store)->begin_run({}));
  wire::ChunkEncoder encoder;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    wire::Registration registration;
    registration.host = "node" + std::to_string(rank);
    registration.functions = {
        {kSend, "MPI_Send", 1}, {kIrecv, "MPI_Irecv", 1}, {kWait, "MPI_Wait", 3}};
    registration.processes = {storage::process_row(1, rank, 1, ranks)};
    CHECK((*store)->put(
        wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(rank)},
                     wire::encode(registration))));
    const auto all = events_of(rank, ranks, messages / ranks);
    for (std::size_t at = 0; at < all.size(); at += wire::kMaxChunkEvents) {
      const std::size_t end = std::min(all.size(), at + wire::kMaxChunkEvents);
      CHECK(
          (*store)->put(wire::Packet({wire::kChunkStream, Lane{1}, at, end, IntervalSet::of(rank)},
                                     encoder.encode(std::span(all).subspan(at, end - at)))));
    }
    wire::ProfileWindow window;
    wire::AccountRow account;
    account.leaf = LeafId{rank};
    account.lane = Lane{1};
    account.captured = account.windowed = account.events = account.event_calls = all.size();
    window.accounts = {account};
    CHECK((*store)->put(storage::window_packet(1, IntervalSet::of(rank), window)));
    CHECK((*store)->commit());
  }
}

bool measure(const std::string& path, std::uint32_t ranks, std::uint64_t messages) {
  write_run(path, ranks, messages);
  const LogGps network = testing::network(2500, 1500, 1000, 6, 0, 65535);
  double reading = 1e9, replaying = 1e9;
  for (int pass = 0; pass < kPasses; ++pass) {
    double begin = cpu_seconds();
    const auto took = [&] {
      const double since = std::exchange(begin, cpu_seconds());
      return begin - since;
    };
    auto run = storage::RunFile::open(path);
    CHECK(run);
    const auto made = read_run(**run);
    CHECK(made);
    reading = std::min(reading, took());
    const auto replayed = replay(made->program, network);
    CHECK(replayed && replayed->messages == messages / ranks * ranks && replayed->unreceived == 0);
    replaying = std::min(replaying, took());
  }
  const double rate = static_cast<double>(messages) / (reading + replaying);
  std::printf(
      "ring of %4u ranks, %llu messages: %.2f M/s (bar %.0f M/s), reading %.0f ns and replay %.0f "
      "ns "
      "a message\n",
      ranks, static_cast<unsigned long long>(messages), rate / 1e6, kBar / 1e6,
      reading / static_cast<double>(messages) * 1e9,
      replaying / static_cast<double>(messages) * 1e9);
  std::fflush(stdout);
  return rate >= kBar;
}

}  // namespace
}  // namespace xylem::predict

int main(int argc, char** argv) {
  const std::uint64_t messages = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const xylem::storage::Folder folder;
  bool met = true;
  for (const std::uint32_t ranks : {4u, 64u, 1024u}) {
    met &= xylem::predict::measure(folder.file("run.db"), ranks,
                                   std::max<std::uint64_t>(messages, ranks));
  }
  return met ? 0 : 1;
}
