// How small chunks are, and what it costs to make and to open them.
//
//   bench_chunk [FILE...] [--benchmark_repetitions=20]
//
// The events are streams that imitate HPL, LAMMPS, bulk exchange and threads, and those of FILE.
// Repetitions give steadier figures on a busy machine.
//
// FILE is an array of wire::Event as memory holds them: 64 bytes each, this machine's byte order.
//
// Each row of the summary has a floor measured in the same run: for time, a copy of the same events
// in memory (memcpy, chunk by chunk); for size, the 64 bytes of a record, and zstd -1 of those
// records, which is what one would do without columns. `entropy` is a remark: what an ideal coder
// would need for gaps and durations alone if it knew each function's distribution of each byte.
// Times are CPU times of this thread, the least of all repetitions.

#include <benchmark/benchmark.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/instructions.h"
#include "tests/support/event_streams.h"
#include "wire/chunk.h"

namespace xylem::wire {
namespace {

constexpr std::size_t kEvents = 8 * kMaxChunkEvents;
constexpr std::uint64_t kSeed = 20240611;
constexpr double kEncodeBarNs = 50;
constexpr double kDecodeBarNs = 20;
constexpr double kSizeBar = 4;

static_assert(sizeof(Event) == 88);

struct Stream {
  std::string name;
  std::vector<Event> events;
  bool has_bars = true;  ///< False for what no program does.
};

std::vector<std::span<const Event>> slices_of(const Stream& stream) {
  std::vector<std::span<const Event>> slices;
  std::span<const Event> rest(stream.events);
  while (!rest.empty()) {
    slices.push_back(rest.first(std::min(rest.size(), kMaxChunkEvents)));
    rest = rest.subspan(slices.back().size());
  }
  return slices;
}

std::vector<Bytes> chunks_of(const Stream& stream) {
  ChunkEncoder encoder;
  std::vector<Bytes> chunks;
  for (const auto slice : slices_of(stream)) chunks.push_back(encoder.encode(slice));
  return chunks;
}

double per_event(const Stream& stream, double total) {
  return total / static_cast<double>(stream.events.size());
}

double chunk_bytes_per_event(const Stream& stream) {
  std::size_t bytes = 0;
  for (const Bytes& chunk : chunks_of(stream)) bytes += chunk.size();
  return per_event(stream, static_cast<double>(bytes));
}

double zstd_bytes_per_event(const Stream& stream) {
  std::size_t bytes = 0;
  std::vector<char> packed(ZSTD_compressBound(kMaxChunkEvents * sizeof(Event)));
  for (const auto slice : slices_of(stream)) {
    bytes += ZSTD_compress(packed.data(), packed.size(), slice.data(), slice.size_bytes(), 1);
  }
  return per_event(stream, static_cast<double>(bytes));
}

/// How often each value of each byte of a number came.
struct ByteCounts {
  std::array<std::array<std::size_t, 256>, 8> count{};
  std::size_t numbers = 0;

  void add(std::uint64_t number) {
    for (std::size_t p = 0; p < 8; ++p) ++count[p][number >> (8 * p) & 0xff];
    ++numbers;
  }
  double bits() const {
    double sum = 0;
    for (const auto& plane : count) {
      for (const std::size_t each : plane) {
        if (each == 0) continue;
        const auto n = static_cast<double>(each);
        sum -= n * std::log2(n / static_cast<double>(numbers));
      }
    }
    return sum;
  }
};

double entropy_of_times(const Stream& stream) {
  std::map<std::pair<std::uint16_t, std::uint8_t>, std::array<ByteCounts, 2>> functions;
  std::map<std::uint32_t, const Event*> before;
  for (const Event& event : stream.events) {
    const Event* last = std::exchange(before[raw(event.thread)], &event);
    if (last == nullptr) continue;
    auto& [gaps, durations] = functions[{raw(event.function), event.kind}];
    const bool repeats = event.begin_ns == last->begin_ns && event.end_ns == last->end_ns;
    const auto difference = [](Nanos late, Nanos early) {
      return static_cast<std::uint64_t>(late) - static_cast<std::uint64_t>(early);
    };
    gaps.add(repeats ? 0 : difference(event.begin_ns, last->end_ns));
    durations.add(repeats ? 0 : difference(event.end_ns, event.begin_ns));
  }
  double bits = 0;
  for (const auto& [function, counts] : functions) bits += counts[0].bits() + counts[1].bits();
  return per_event(stream, bits / 8);
}

void copy(benchmark::State& state, const Stream& stream) {
  std::vector<Event> to(kMaxChunkEvents);
  const auto slices = slices_of(stream);
  for (auto _ : state) {
    for (const auto slice : slices) {
      std::memcpy(to.data(), slice.data(), slice.size_bytes());
      benchmark::DoNotOptimize(to.data());
      benchmark::ClobberMemory();
    }
  }
}

void pack_raw(benchmark::State& state, const Stream& stream) {
  std::vector<char> packed(ZSTD_compressBound(kMaxChunkEvents * sizeof(Event)));
  ZSTD_CCtx* context = ZSTD_createCCtx();
  const auto slices = slices_of(stream);
  for (auto _ : state) {
    for (const auto slice : slices) {
      benchmark::DoNotOptimize(ZSTD_compressCCtx(context, packed.data(), packed.size(),
                                                 slice.data(), slice.size_bytes(), 1));
    }
  }
  ZSTD_freeCCtx(context);
}

void encode(benchmark::State& state, const Stream& stream) {
  ChunkEncoder encoder;
  const auto slices = slices_of(stream);
  const testing::CountedInstructions counted(state, "encode/" + stream.name);
  for (auto _ : state) {
    for (const auto slice : slices) benchmark::DoNotOptimize(encoder.encode(slice));
  }
}

void decode(benchmark::State& state, const Stream& stream) {
  ChunkDecoder decoder;
  const auto chunks = chunks_of(stream);
  const testing::CountedInstructions counted(state, "decode/" + stream.name);
  for (auto _ : state) {
    for (const Bytes& chunk : chunks) {
      const auto events = decoder.decode(chunk);
      if (!events) return state.SkipWithError(events.error().message.c_str());
      benchmark::DoNotOptimize(events->data());
    }
  }
}

void summarize(benchmark::State& state, const Stream& stream) {
  const auto chunks = chunks_of(stream);
  const testing::CountedInstructions counted(state, "summarize/" + stream.name);
  for (auto _ : state) {
    for (const Bytes& chunk : chunks) benchmark::DoNotOptimize(read_chunk_summary(chunk));
  }
}

/// Prints as usual, and keeps the least CPU time of each benchmark over its repetitions.
class LeastTimes : public benchmark::ConsoleReporter {
 public:
  LeastTimes() : ConsoleReporter(OO_Tabular) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const double ns = run.cpu_accumulated_time * 1e9 / static_cast<double>(run.iterations);
      const auto [at, first] = least_ns_.try_emplace(run.run_name.function_name, ns);
      at->second = std::min(at->second, ns);
    }
  }

  /// 0 when that benchmark was filtered out.
  double least_ns(const std::string& name) const {
    const auto at = least_ns_.find(name);
    return at == least_ns_.end() ? 0 : at->second;
  }

 private:
  std::map<std::string, double> least_ns_;
};

void print_row(const std::string& what, double floor, double figure, double bar, const char* unit) {
  std::printf("%-34s floor=%.2f figure=%.2f ratio=%.2f bar=", what.c_str(), floor, figure,
              figure / floor);
  if (bar > 0) {
    std::printf("%.0f %s\n", bar, unit);
  } else {
    std::printf("none %s\n", unit);
  }
}

void print_summary(const Stream& stream, const LeastTimes& times) {
  const auto time = [&](const char* what) {
    return per_event(stream, times.least_ns(what + ("/" + stream.name)));
  };
  const auto bar = [&](double value) { return stream.has_bars ? value : 0; };
  const std::string& name = stream.name;
  print_row(name + ": encode", time("copy"), time("encode"), bar(kEncodeBarNs), "ns/event");
  print_row(name + ": encode, floor zstd -1", time("pack_raw"), time("encode"), bar(kEncodeBarNs),
            "ns/event");
  print_row(name + ": decode", time("copy"), time("decode"), bar(kDecodeBarNs), "ns/event");
  print_row(name + ": summary", time("copy"), time("summarize"), 0, "ns/event");
  const double size = chunk_bytes_per_event(stream);
  print_row(name + ": size", sizeof(Event), size, bar(kSizeBar), "B/event");
  print_row(name + ": size, floor zstd -1", zstd_bytes_per_event(stream), size, bar(kSizeBar),
            "B/event");
  if (!stream.has_bars) return;  // Each function comes once or twice: no distribution to speak of.
  std::printf("%-34s entropy=%.2f B/event of gaps and durations\n\n", (name + ": remark").c_str(),
              entropy_of_times(stream));
}

bool read_events(const char* path, std::vector<Stream>& streams) {
  std::ifstream in(path, std::ios::binary);
  Stream stream{path, {}};
  for (Event event; in.read(reinterpret_cast<char*>(&event), sizeof event);) {
    stream.events.push_back(event);
  }
  if (stream.events.empty() || !in.eof() || in.gcount() != 0) {
    std::fprintf(stderr, "%s: not a file of whole 64-byte events, or not readable\n", path);
    return false;
  }
  streams.push_back(std::move(stream));
  return true;
}

}  // namespace
}  // namespace xylem::wire

int main(int count, char** words) {
  using namespace xylem::wire;
  benchmark::Initialize(&count, words);
  std::vector<Stream> streams{
      {"hpl_like", xylem::testing::hpl_like_events(kEvents, kSeed)},
      {"lammps_like", xylem::testing::lammps_like_events(kEvents, kSeed)},
      {"exchange", xylem::testing::exchange_events(kEvents, kSeed)},
      {"four_threads", xylem::testing::threaded_events(kEvents, kSeed, 4)},
      {"random", xylem::testing::random_events(kEvents, kSeed), false},
  };
  for (int i = 1; i < count; ++i) {
    if (!read_events(words[i], streams)) return 1;
  }
  constexpr std::pair<const char*, void (*)(benchmark::State&, const Stream&)> kMeasured[] = {
      {"copy", copy},     {"pack_raw", pack_raw},   {"encode", encode},
      {"decode", decode}, {"summarize", summarize},
  };
  for (const Stream& stream : streams) {
    for (const auto& [name, measured] : kMeasured) {
      benchmark::RegisterBenchmark((name + ("/" + stream.name)).c_str(), measured,
                                   std::cref(stream))
          ->Unit(benchmark::kMicrosecond)
          ->Apply(xylem::testing::when_counted<1>);
    }
  }
  LeastTimes times;
  benchmark::RunSpecifiedBenchmarks(&times);
  benchmark::Shutdown();
  if (RUNNING_ON_VALGRIND) return 0;  // The summary is about times and sizes.
  std::printf("\n");
  for (const Stream& stream : streams) print_summary(stream, times);
  return 0;
}
