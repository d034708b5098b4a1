// A simulator. xylem records its events like those of an MPI job. The simulated ranks form a ring:
// they compute, send a message to the next rank, and meet. The simulator has its own clock.
//
//   xylem run --detail trace --store ring.db -- build/examples/ring_simulator 64 1000
//   xylem report ring.db
//   xylem query ring.db 'SELECT rank, sum(time_ns) FROM wait_matrix GROUP BY rank'

#include <xylem/backend/event_source.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

using xylem::FunctionId;
using xylem::Nanos;
using xylem::Rank;
using xylem::backend::EventSource;
using xylem::backend::EventSourceOptions;
using xylem::backend::SourceCall;
using xylem::backend::SourceFunction;

constexpr FunctionId kSend{0}, kReceive{1}, kReduce{2};  // Indexes in the list of functions.
constexpr std::uint64_t kBytes = 8192;
constexpr Nanos kOverhead = 500;   // Time of each send, and of a receive after the message arrived.
constexpr Nanos kTransfer = 4000;  // From the end of a send to the arrival.
constexpr Nanos kMeeting = 6000;   // From the arrival of the last rank until all ranks leave.

template <typename T>
T must(xylem::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "ring_simulator: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Returns the calls of the ranks from one meeting to the next. `now` is the time at which the ranks
// left the last meeting; it is set to the time at which they leave the next one.
std::vector<SourceCall> simulate_round(std::uint32_t ranks, std::uint32_t round, Nanos& now) {
  std::vector<SourceCall> calls;
  std::vector<Nanos> sent(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const Nanos work = 50'000 + 1000 * ((7 * rank + 13 * round) % 40);
    sent[rank] = now + work + kOverhead;
    calls.push_back({.rank = Rank{rank},
                     .begin_ns = now + work,
                     .end_ns = sent[rank],
                     .function = kSend,
                     .direction = SourceCall::Direction::kSend,
                     .peer = Rank{(rank + 1) % ranks},
                     .tag = 1,
                     .bytes = kBytes});
  }
  std::vector<Nanos> received(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t left = (rank + ranks - 1) % ranks;
    received[rank] = std::max(sent[rank], sent[left] + kTransfer) + kOverhead;
    calls.push_back({.rank = Rank{rank},
                     .begin_ns = sent[rank],
                     .end_ns = received[rank],
                     .function = kReceive,
                     .direction = SourceCall::Direction::kReceive,
                     .peer = Rank{left},
                     .tag = 1,
                     .bytes = kBytes});
  }
  now = *std::max_element(received.begin(), received.end()) + kMeeting;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    calls.push_back({.rank = Rank{rank},
                     .begin_ns = received[rank],
                     .end_ns = now,
                     .function = kReduce,
                     .bytes = sizeof(double)});
  }
  // add() needs the calls in the order in which they end.
  std::stable_sort(calls.begin(), calls.end(),
                   [](const SourceCall& a, const SourceCall& b) { return a.end_ns < b.end_ns; });
  return calls;
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 64);
  const auto rounds = static_cast<std::uint32_t>(argc > 2 ? std::atoi(argv[2]) : 1000);
  EventSourceOptions options;
  options.program = argv[0];
  options.world = "ring";
  options.world_size = ranks;
  options.ranks = ranks;
  options.functions = {{"MPI_Send", SourceFunction::Class::kPointToPoint},
                       {"MPI_Recv", SourceFunction::Class::kPointToPoint},
                       {"MPI_Allreduce", SourceFunction::Class::kCollective}};
  const auto source = must(EventSource::join(std::move(options)));
  Nanos now = 0;
  std::uint64_t count = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (const SourceCall& call : simulate_round(ranks, round, now)) {
      must(source->add(call));
      ++count;
    }
  }
  must(source->close(60 * xylem::kSecond));
  std::printf("%u ranks, %u rounds: %llu calls in %lld ns\n", ranks, rounds,
              static_cast<unsigned long long>(count), static_cast<long long>(now));
}
