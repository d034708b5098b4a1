// What the time-ordered stream of events costs beyond decoding the chunks.
//
//   bench_events [EVENTS]
//
// Writes runs to a temporary folder, of 1, 8 or 64 ranks. Their events imitate a program; there are
// EVENTS (4 million), and at least 250,000 of each rank. Then reads each run with
// storage::EventReader: rank by rank, and all ranks together. The floor is wire::ChunkDecoder over
// the same blobs, which are in memory. Times are CPU times, the least of five passes that alternate
// with those of the floor. The bar of a rank's stream is 1.5 times the floor. All ranks together
// have no bar, nor have several threads that call MPI at the same time.

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "storage/read/event_reader.h"
#include "storage/read/query.h"
#include "tests/support/event_streams.h"
#include "tests/unit/storage/packets.h"

namespace xylem::storage {
namespace {

constexpr int kPasses = 5;
constexpr double kBar = 1.5;
constexpr std::size_t kMinEventsOfRank = 250'000;

using MakeEvents = std::vector<wire::Event> (*)(std::size_t count, std::uint64_t seed);

double cpu_seconds() {
  rusage of{};
  ::getrusage(RUSAGE_SELF, &of);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(of.ru_utime) + seconds(of.ru_stime);
}

void write_run(const std::string& path, MakeEvents make, std::uint32_t ranks, std::size_t events) {
  SqliteOptions options;
  options.path = path;
  options.overwrite = true;
  auto store = make_sqlite_store(options);
  CHECK(store);
  CHECK((*store)->begin_run({}));
  wire::ChunkEncoder encoder;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    CHECK((*store)->put(registration_packet(rank, {process_row(1, rank, 1, ranks)})));
    const std::vector<wire::Event> all = make(std::max(events / ranks, kMinEventsOfRank), rank + 1);
    for (std::size_t at = 0; at < all.size(); at += wire::kMaxChunkEvents) {
      const std::size_t end = std::min(all.size(), at + wire::kMaxChunkEvents);
      CHECK(
          (*store)->put(wire::Packet({wire::kChunkStream, Lane{1}, at, end, IntervalSet::of(rank)},
                                     encoder.encode(std::span(all).subspan(at, end - at)))));
    }
    CHECK((*store)->commit());
  }
}

class Blobs final : public RowSink {
 public:
  void begin(std::span<const std::string>) override {}
  bool row(std::span<const Value> values) override {
    all.push_back(std::get<Blob>(values[0]));
    return true;
  }
  std::vector<Blob> all;
};

std::uint64_t decode(const std::vector<Blob>& blobs) {
  wire::ChunkDecoder decoder;
  std::uint64_t events = 0;
  for (const Blob& blob : blobs) {
    const auto decoded = decoder.decode(blob);
    CHECK(decoded);
    events += decoded->size();
  }
  return events;
}

std::uint64_t read(RunFile& run, const EventQuery& query) {
  const auto reader = run.events(query);
  CHECK(reader);
  EventReader::Item item;
  std::uint64_t events = 0;
  Nanos last = 0;
  while ((*reader)->next(item)) {
    ++events;
    CHECK(item.event->begin_ns >= last);
    last = item.event->begin_ns;
  }
  CHECK((*reader)->take());
  return events;
}

void print_row(const std::string& what, double floor, double figure, bool has_bar) {
  std::printf("%-36s floor=%.1f figure=%.1f ratio=%.2f bar=%s ns/event\n", what.c_str(), floor,
              figure, figure / floor, has_bar ? "1.5x" : "none");
}

/// Returns false if the bar is missed.
bool measure(const std::string& name, const std::string& path, std::uint32_t ranks, bool has_bar) {
  auto run = RunFile::open(path);
  CHECK(run);
  Blobs blobs;
  CHECK((*run)->query("SELECT chunk FROM event_chunk ORDER BY process, begin_ns", blobs));
  double floor = 1e9, by_rank = 1e9, together = 1e9;
  std::uint64_t events = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    double begin = cpu_seconds();
    const auto took = [&] { return std::exchange(begin, cpu_seconds()); };
    events = decode(blobs.all);
    double before = took();
    floor = std::min(floor, begin - before);
    std::uint64_t same = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) same += read(**run, {.rank = Rank{rank}});
    CHECK(same == events);
    before = took();
    by_rank = std::min(by_rank, begin - before);
    if (ranks == 1) continue;
    CHECK(read(**run, {}) == events);
    before = took();
    together = std::min(together, begin - before);
  }
  const double ns = 1e9 / static_cast<double>(events);
  const std::string of = name + ", " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
  print_row(of + ": each rank", floor * ns, by_rank * ns, has_bar);
  if (ranks != 1) print_row(of + ": all together", floor * ns, together * ns, false);
  return !has_bar || by_rank <= kBar * floor;
}

}  // namespace
}  // namespace xylem::storage

int main(int count, char** arguments) {
  using namespace xylem::storage;
  using namespace xylem::testing;
  const std::size_t events = count > 1 ? std::stoul(arguments[1]) : 4'000'000;
  const Folder folder;
  const std::string path = folder.file("events.db");
  struct Program {
    const char* name;
    MakeEvents make;
    bool has_bar = true;
  };
  const Program programs[] = {
      {"hpl_like", hpl_like_events},
      {"lammps_like",
       [](std::size_t n, std::uint64_t seed) { return lammps_like_events(n, seed); }},
      {"exchange", exchange_events},
      {"four_threads",
       [](std::size_t n, std::uint64_t seed) { return threaded_events(n, seed, 4); }, false},
  };
  bool all_within = true;
  for (const Program& program : programs) {
    for (const std::uint32_t ranks : {1u, 8u, 64u}) {
      write_run(path, program.make, ranks, events);
      all_within = measure(program.name, path, ranks, program.has_bar) && all_within;
    }
  }
  return all_within ? 0 : 1;
}
