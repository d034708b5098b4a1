// What the agent takes of a processor for each record: Collector::drain into a journal, nothing
// else.
//
//   bench_collector                              three mixes of calls, with and without chunks
//   bench_collector --benchmark_repetitions=20   steadier figures on a busy machine
//
// Two hand-made processes write their records as ranks would, at about a million calls a second by
// the times that the records carry; after each kRecordsPerLook of them the collector drains. Only
// the drain is timed, in CPU time of this thread; writing, acknowledging and freeing are not.
//
//   clocks    MPI_Wtime and other local calls, nine in ten of all that an adaptive mesh code makes
//   stream    as osu_bw: 64 Isend and a Waitall, or 64 Irecv and a Waitall with 64 completions
//   stencil   six neighbours: Irecv, Isend, Waitall with its completions, Allreduce, clock reads
//
// The floor is a copy of the same records out of the rings (Segment::read), measured in the same
// run. Each figure is the least of all repetitions.

#include <benchmark/benchmark.h>
#include <time.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/agent/collector.h"
#include "tests/bench/instructions.h"
#include "tests/support/hand_made_segment.h"

namespace xylem::backend {
namespace {

using testing::HandMadeCall;
using testing::HandMadeSegment;

constexpr double kProfileBarNs = 15;
constexpr double kTraceBarNs = 45;

constexpr std::uint32_t kRanks = 2;
constexpr std::uint32_t kRingRecords = 1u << 16;
constexpr std::size_t kRecordsPerLook = 8192;  // Of each rank: an eighth of its ring.
constexpr std::size_t kScript = 8 * kRecordsPerLook;
constexpr std::uint32_t kFunctions = 640;  // As many as MPICH has.
constexpr double kTicksPerNs = 2.445;
constexpr Nanos kStart = 1'000 * kSecond;

// Numbers that a table of functions would give.
enum Function : std::uint16_t {
  kAllreduce = 3,
  kCommRank = 57,
  kIrecv = 204,
  kIsend = 210,
  kWaitall = 521,
  kWtime = 540,
};

/// Each function is called at one place of a file without a name, which cannot be read.
constexpr std::uint64_t kCode = 0x55550000;
constexpr std::uint64_t kCodeBytes = 0x10000;

/// One rank's calls, again and again; times count from 0, in ns.
struct Script {
  std::vector<HandMadeCall> calls;
  Nanos length = 0;
};

/// Writes a script: gaps and durations are log-normal around a median, as measured ones are.
class Pen {
 public:
  explicit Pen(std::uint64_t seed) : random_(seed) {}

  HandMadeCall& call(Function function, double gap_ns, double duration_ns) {
    HandMadeCall call;
    call.caller = kCode + 20 * (function + 1u);
    call.function = function;
    call.begin = static_cast<std::uint64_t>(now_ + around(gap_ns));
    now_ = static_cast<Nanos>(call.begin) + around(duration_ns);
    call.end = static_cast<std::uint64_t>(now_);
    script_.calls.push_back(call);
    return script_.calls.back();
  }

  void start(Function function, std::int32_t peer, std::uint64_t bytes, std::uint64_t request) {
    HandMadeCall& made = call(function, 90, 320);
    made.peer = peer;
    made.bytes = bytes;
    made.request = request;
    if (function == kIsend) made.flags = capture::kRecordSend;
  }

  /// A Waitall that completes a receive of each peer.
  void complete(const std::vector<std::int32_t>& peers, std::uint64_t bytes,
                std::uint64_t first_request) {
    const HandMadeCall all = call(kWaitall, 110, 2'600);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      HandMadeCall one = all;
      one.calls = 0;
      one.flags = capture::kRecordPart | capture::kRecordReceive;
      one.peer = peers[i];
      one.bytes = bytes;
      one.request = first_request + i;
      script_.calls.push_back(one);
    }
  }

  std::size_t size() const { return script_.calls.size(); }
  std::mt19937_64& random() { return random_; }
  Script take() {
    script_.length = now_ + 1;
    return std::move(script_);
  }

 private:
  Nanos around(double median) {
    return static_cast<Nanos>(median * std::exp(0.35 * normal_(random_)));
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  Nanos now_ = 0;
  Script script_;
};

constexpr std::uint64_t kRequests = 0x98000000;  // As MPICH numbers them.

Script clocks(std::uint64_t seed) {
  Pen pen(seed);
  while (pen.size() < kScript) {
    const bool is_clock = pen.random()() % 10 != 0;
    pen.call(is_clock ? kWtime : kCommRank, 650, is_clock ? 45 : 30);
  }
  return pen.take();
}

Script stream(std::uint64_t seed) {
  constexpr std::int32_t kWindow = 64;
  Pen pen(seed);
  while (pen.size() < kScript) {
    for (std::int32_t i = 0; i < kWindow; ++i) {
      pen.start(seed % 2 == 0 ? kIsend : kIrecv, 1, 8, kRequests + static_cast<std::uint64_t>(i));
    }
    pen.complete(std::vector<std::int32_t>(seed % 2 == 0 ? 0 : kWindow, 1), 8, kRequests);
  }
  return pen.take();
}

Script stencil(std::uint64_t seed) {
  const std::vector<std::int32_t> neighbours{1, 7, 8, 56, 57, 63};
  Pen pen(seed);
  while (pen.size() < kScript) {
    pen.call(kWtime, 700, 45);
    std::uint64_t request = kRequests;
    for (const std::int32_t peer : neighbours) pen.start(kIrecv, peer, 8192, request++);
    for (const std::int32_t peer : neighbours) pen.start(kIsend, peer, 8192, request++);
    pen.complete(neighbours, 8192, kRequests);
    pen.call(kWtime, 60, 45);
    pen.call(kAllreduce, 2'000, 6'000).bytes = 8;
  }
  return pen.take();
}

/// A process that plays its script. Its clock is a time-stamp counter.
class Rank {
 public:
  Rank(std::uint32_t number, Script script)
      : segment_(std::make_unique<HandMadeSegment>(kRingRecords, kFunctions)),
        script_(std::move(script)) {
    segment_->header().clock = capture::ClockKind::kTsc;
    segment_->enter_world(number, kRanks);
    segment_->define(capture::DefinitionKind::kMappedFile,
                     capture::MappedFile{kCode, kCode + kCodeBytes, 0, 0, {}});
  }

  Segment view() { return segment_->view(); }

  /// Writes so many records; the time when the last of them ended.
  Nanos write(std::size_t records) {
    for (; records > 0; --records) {
      HandMadeCall call = script_.calls[next_];
      last_ = start_ + static_cast<Nanos>(call.end);
      call.begin = ticks(start_ + static_cast<Nanos>(call.begin));
      call.end = ticks(last_);
      lost_ += segment_->write(0, call) ? 0 : 1;
      if (++next_ < script_.calls.size()) continue;
      next_ = 0;
      start_ += script_.length;
    }
    return last_;
  }

  std::uint64_t lost() const { return lost_; }

  static std::uint64_t ticks(Nanos ns) {
    return static_cast<std::uint64_t>(kTicksPerNs * static_cast<double>(ns));
  }

 private:
  std::unique_ptr<HandMadeSegment> segment_;
  Script script_;
  Nanos start_ = kStart;
  Nanos last_ = kStart;
  std::size_t next_ = 0;
  std::uint64_t lost_ = 0;
};

Nanos cpu_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

using MakeScript = Script (*)(std::uint64_t seed);

std::vector<Rank> make_ranks(MakeScript make) {
  std::vector<Rank> ranks;
  for (std::uint32_t i = 0; i < kRanks; ++i) ranks.emplace_back(i, make(20240611 + i));
  return ranks;
}

Nanos write_all(std::vector<Rank>& ranks) {
  Nanos latest = 0;
  for (Rank& rank : ranks) latest = std::max(latest, rank.write(kRecordsPerLook));
  return latest;
}

void count(benchmark::State& state) {
  const auto records = static_cast<double>(state.iterations() * kRanks * kRecordsPerLook);
  state.counters["records/s"] = benchmark::Counter(records, benchmark::Counter::kIsRate);
}

void copy(benchmark::State& state, MakeScript make) {
  std::vector<Rank> ranks = make_ranks(make);
  std::vector<Segment> segments;
  for (Rank& rank : ranks) segments.push_back(rank.view());
  std::vector<capture::Record> to(WindowBuilder::kLargestGroup);
  std::vector<RingProgress> progress(kRanks);
  for (auto _ : state) {
    write_all(ranks);
    const Nanos before = cpu_time();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      while (const auto read = segments[i].read(0, progress[i].window_position, to)) {
        progress[i].window_position = progress[i].chunk_position += read;
        benchmark::DoNotOptimize(to.data());
      }
      segments[i].advance(0, progress[i]);
    }
    state.SetIterationTime(static_cast<double>(cpu_time() - before) * 1e-9);
  }
  count(state);
}

void drain(benchmark::State& state, MakeScript make, bool chunks, const std::string& name) {
  testing::Memory memory(Journal::kDefaultBytes);
  Journal journal = *Journal::open(memory.bytes());
  std::vector<Rank> ranks = make_ranks(make);
  Nanos now = kStart;
  CollectorOptions options;
  options.registrations.host = "bench";
  options.clock = [&now] { return now; };
  options.read_pair = [&now] { return TickPair{Rank::ticks(now), now, 30}; };
  Collector collector(options, journal);
  for (std::uint32_t i = 0; i < kRanks; ++i) {
    collector.add(Lane{i + 1}, ranks[i].view(), false, now);
  }
  wire::Control control;
  control.version = 1;
  control.epoch_ns = kStart - kSecond;
  control.window_ns = 250 * kMillisecond;
  control.chunks = chunks;
  control.enabled = true;
  collector.configure(LeafId{1}, control);
  const auto prepare = [&] {
    const testing::NotCounted not_counted;
    for (const PacketKey& key : collector.take_appended()) journal.acknowledge(key);
    now = write_all(ranks);
  };
  const auto drain_all = [&] {
    while (collector.drain(now).unfinished) {
    }
  };
  for (int i = 0; i < 4; ++i) {  // The clock's first piece, registrations, buffers.
    prepare();
    drain_all();
  }
  const testing::CountedInstructions counted(state, name);
  for (auto _ : state) {
    prepare();
    const Nanos before = cpu_time();
    drain_all();
    state.SetIterationTime(static_cast<double>(cpu_time() - before) * 1e-9);
  }
  for (const Rank& rank : ranks) {
    if (rank.lost() != 0) state.SkipWithError("records were lost");
  }
  count(state);
}

/// Prints as usual, and keeps the least time of each benchmark over its repetitions.
class LeastTimes : public benchmark::ConsoleReporter {
 public:
  LeastTimes() : ConsoleReporter(OO_Tabular) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const double ns = run.real_accumulated_time * 1e9 /
                        static_cast<double>(run.iterations * kRanks * kRecordsPerLook);
      const auto [at, first] = least_ns_.try_emplace(run.run_name.function_name, ns);
      at->second = std::min(at->second, ns);
    }
  }

  /// Of a record; 0 when that benchmark was filtered out.
  double least_ns(const std::string& name) const {
    const auto at = least_ns_.find(name);
    return at == least_ns_.end() ? 0 : at->second;
  }

 private:
  std::map<std::string, double> least_ns_;
};

}  // namespace
}  // namespace xylem::backend

int main(int count, char** words) {
  using namespace xylem::backend;
  benchmark::Initialize(&count, words);
  const std::pair<const char*, MakeScript> mixes[] = {
      {"clocks", clocks}, {"stream", stream}, {"stencil", stencil}};
  for (const auto& [mix, make] : mixes) {
    const auto name = [mix = mix](const char* what) { return std::string(what) + "/" + mix; };
    const auto as_measured = [](benchmark::internal::Benchmark* made) {
      made->Unit(benchmark::kMicrosecond)->UseManualTime()->Apply(xylem::testing::when_counted<8>);
    };
    as_measured(benchmark::RegisterBenchmark(name("copy").c_str(), copy, make));
    for (const auto& [detail, chunks] : {std::pair{"profile", false}, {"trace", true}}) {
      as_measured(
          benchmark::RegisterBenchmark(name(detail).c_str(), drain, make, chunks, name(detail)));
    }
  }
  LeastTimes times;
  benchmark::RunSpecifiedBenchmarks(&times);
  benchmark::Shutdown();
  std::printf("\n");
  for (const auto& [mix, make] : mixes) {
    for (const auto& [detail, bar] :
         {std::pair{"profile", kProfileBarNs}, {"trace", kTraceBarNs}}) {
      const double floor = times.least_ns(std::string("copy/") + mix);
      const double figure = times.least_ns(std::string(detail) + "/" + mix);
      std::printf("%-34s floor=%.2f figure=%.2f ratio=%.2f bar=%.0f ns/record\n",
                  (std::string(mix) + ": " + detail).c_str(), floor, figure, figure / floor, bar);
    }
  }
  return 0;
}
