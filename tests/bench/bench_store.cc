// How fast a run goes into SQLite, and how fast its events come out again.
//
//   bench_store [EVENTS] [FOLDER]          defaults: 20 M events, $TMPDIR or /tmp
//
// 64 ranks on 4 leaves. A simulated stream in which each rank fills a chunk in 100 ms: chunks of
// 8192 events (about 3 bytes an event), one window of 64 ranks each 250 ms, a commit each 200 ms;
// each put looks for duplicates, each commit keeps the account. Packets are made beforehand. Time
// is CPU time of this thread, which does everything that the front end's store does.
//
// Floor: the same bytes as plain blobs, one INSERT each, in one transaction on a file alike.
// Bar: 20 M events/s (design, section 12).

#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "storage/read/query.h"
#include "storage/write/store.h"
#include "wire/chunk.h"
#include "wire/profile.h"
#include "wire/registration.h"

namespace {

using namespace xylem;

constexpr std::uint32_t kLeaves = 4;
constexpr std::uint32_t kLanes = 16;
constexpr std::size_t kFunctions = 10;
constexpr double kEventsASecond = 5.2e6;  // Of the simulated stream: 8192 a rank in 100 ms.
constexpr double kCommitEvery = 0.2;
constexpr double kWindowEvery = 0.25;
constexpr double kBar = 20e6;

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
double cpu() { return seconds(CLOCK_THREAD_CPUTIME_ID); }
double wall() { return seconds(CLOCK_MONOTONIC); }

// A halo exchange as an application does it: regular, with noise in its times.
std::vector<wire::Event> halo(std::mt19937& random, std::uint32_t rank, Nanos begin) {
  std::vector<wire::Event> events(wire::kMaxChunkEvents);
  for (std::size_t i = 0; i < events.size(); ++i) {
    wire::Event& event = events[i];
    begin += 6000 + random() % 4096;
    event.begin_ns = begin;
    begin += 2000 + random() % 4096;
    event.end_ns = begin;
    event.comm = CommId{0};
    event.peer = static_cast<std::int32_t>((rank + (i % 2 == 0 ? 1 : 63)) % 64);
    event.tag = static_cast<std::int32_t>(i % 4);
    event.bytes = i % 4 == 0 ? 8192 : 1024;
    event.function = FunctionId{static_cast<std::uint16_t>(i % 4)};
    event.request = 1 + i % 16;
  }
  return events;
}

wire::Packet registration(std::uint32_t leaf) {
  wire::Registration registration;
  registration.host = "node" + std::to_string(leaf);
  for (std::uint16_t f = 0; f < kFunctions; ++f) {
    registration.functions.push_back({FunctionId{f}, "MPI_F" + std::to_string(f), 1});
  }
  for (std::uint32_t lane = 1; lane <= kLanes; ++lane) {
    wire::ProcessRow row;
    row.lane = Lane{lane};
    row.initialised = true;
    row.rank = Rank{leaf * kLanes + lane - 1};
    row.world_size = kLeaves * kLanes;
    registration.processes.push_back(row);
  }
  return wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(leaf)},
                      wire::encode(registration));
}

wire::Packet window(std::uint64_t wave) {
  wire::ProfileWindow window;
  window.begin_ns = static_cast<Nanos>(static_cast<double>(wave) * kWindowEvery * 1e9);
  window.end_ns = window.begin_ns + static_cast<Nanos>(kWindowEvery * 1e9);
  const auto calls = static_cast<std::uint64_t>(kEventsASecond * kWindowEvery / 64 / kFunctions);
  for (std::uint32_t leaf = 0; leaf < kLeaves; ++leaf) {
    for (std::uint32_t lane = 1; lane <= kLanes; ++lane) {
      for (std::uint16_t f = 0; f < kFunctions; ++f) {
        wire::ProfileRow row;
        row.leaf = LeafId{leaf};
        row.lane = Lane{lane};
        row.function = FunctionId{f};
        row.calls = calls;
        row.time_ns = 1000 * calls;
        row.max_ns = 9000;
        for (std::uint64_t ns = 500; ns < 16000; ns *= 2) row.histogram.add(ns, calls / 5);
        window.rows.push_back(row);
      }
      for (std::uint32_t peer = 0; peer < 4; ++peer) {
        window.matrix.push_back({LeafId{leaf}, Lane{lane}, Rank{peer}, 1 << 20, 1000});
        window.waits.push_back({LeafId{leaf}, Lane{lane}, Rank{peer}, 1 << 20, 1000});
      }
      wire::AccountRow account;
      account.leaf = LeafId{leaf};
      account.lane = Lane{lane};
      account.captured = account.windowed = (wave + 1) * calls * kFunctions;
      window.accounts.push_back(account);
    }
  }
  return wire::Packet({wire::kWindowStream, kLeafLane, wave, wave + 1, IntervalSet::range(0, 4)},
                      wire::encode(window));
}

struct Stream {
  std::vector<wire::Packet> packets;  // In order of their simulated time.
  std::vector<double> at;
  std::size_t bytes = 0;
  std::size_t windows = 0;
};

Stream make_stream(std::size_t chunks) {
  std::mt19937 random(20261121);
  wire::ChunkEncoder encoder;
  Stream stream;
  for (std::uint32_t leaf = 0; leaf < kLeaves; ++leaf) {
    stream.packets.push_back(registration(leaf));
    stream.at.push_back(0);
  }
  const double between = wire::kMaxChunkEvents / kEventsASecond;
  for (std::size_t i = 0; i < chunks; ++i) {
    const double now = static_cast<double>(i) * between;
    while (static_cast<double>(stream.windows + 1) * kWindowEvery <= now) {
      stream.packets.push_back(window(stream.windows++));
      stream.at.push_back(now);
    }
    const auto rank = static_cast<std::uint32_t>(i % 64);
    const std::uint64_t first = i / 64 * wire::kMaxChunkEvents;
    stream.packets.emplace_back(
        wire::PacketId{wire::kChunkStream, Lane{rank % kLanes + 1}, first,
                       first + wire::kMaxChunkEvents, IntervalSet::of(rank / kLanes)},
        encoder.encode(halo(random, rank, static_cast<Nanos>(now * 1e9))));
    stream.at.push_back(now);
    stream.bytes += stream.packets.back().payload.size();
  }
  return stream;
}

double ingest(const Stream& stream, const std::string& path, std::size_t* commits) {
  auto made = storage::make_sqlite_store({path, true});
  CHECK(made);
  auto& store = *made;
  CHECK(store->begin_run({}));
  const double start = cpu();
  double committed_at = 0;
  for (std::size_t i = 0; i < stream.packets.size(); ++i) {
    if (stream.at[i] - committed_at >= kCommitEvery) {
      committed_at = stream.at[i];
      CHECK(store->commit());
      ++*commits;
    }
    const auto outcome = store->put(stream.packets[i]);
    CHECK(outcome && outcome->kind == storage::PutOutcome::Kind::kStored);
  }
  CHECK(store->commit());
  CHECK(store->account());
  const double used = cpu() - start;
  CHECK(store->end_run(0, 0));
  return used;
}

double floor_of(const Stream& stream, const std::string& path) {
  sqlite3* database = nullptr;
  CHECK(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  const auto run = [&](const char* sql) {
    CHECK(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  };
  run("PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
      "CREATE TABLE plain(id INTEGER PRIMARY KEY, payload BLOB)");
  sqlite3_stmt* insert = nullptr;
  CHECK(sqlite3_prepare_v2(database, "INSERT INTO plain(payload) VALUES(?)", -1, &insert,
                           nullptr) == SQLITE_OK);
  const double start = cpu();
  run("BEGIN");
  for (const wire::Packet& packet : stream.packets) {
    sqlite3_bind_blob64(insert, 1, packet.payload.data(), packet.payload.size(), SQLITE_STATIC);
    CHECK(sqlite3_step(insert) == SQLITE_DONE);
    sqlite3_reset(insert);
  }
  run("COMMIT");
  const double used = cpu() - start;
  sqlite3_finalize(insert);
  sqlite3_close(database);
  return used;
}

void ask(storage::RunFile& run, const char* what, const std::string& sql) {
  const std::uint64_t chunks = run.chunks_decoded();
  const double start = wall();
  const auto rows = run.rows(sql);
  CHECK(rows);
  const double took = wall() - start;
  std::printf("  %-44s %9.1f ms  %6llu chunks  -> %s\n", what, took * 1e3,
              static_cast<unsigned long long>(run.chunks_decoded() - chunks),
              rows->empty() ? "" : storage::to_text(rows->front().front()).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const double events = argc > 1 ? std::atof(argv[1]) : 20e6;
  const char* const tmpdir = std::getenv("TMPDIR");
  const std::string folder = argc > 2 ? argv[2] : tmpdir != nullptr ? tmpdir : "/tmp";
  const std::string name = folder + "/xylem-bench-" + std::to_string(::getpid());
  const std::string path = name + ".db";
  const std::string plain = name + "-floor.db";

  const auto chunks = static_cast<std::size_t>(events / wire::kMaxChunkEvents);
  const Stream stream = make_stream(chunks);
  const auto total = static_cast<double>(chunks * wire::kMaxChunkEvents);
  std::printf("store: %.1f M events in %zu chunks (%.2f B/event), %zu windows of 64 ranks\n",
              total / 1e6, chunks, static_cast<double>(stream.bytes) / total, stream.windows);

  double best = 1e9;
  double floor = 1e9;
  std::size_t commits = 0;
  for (int trial = 0; trial < 3; ++trial) {
    commits = 0;
    std::filesystem::remove(plain);
    floor = std::min(floor, floor_of(stream, plain));
    best = std::min(best, ingest(stream, path, &commits));
  }
  const double rate = total / best;
  std::printf("ingest, CPU time, best of 3, %zu commits\n", commits);
  std::printf("  floor  %8.1f M events/s   (the same bytes as plain blobs, one transaction)\n",
              total / floor / 1e6);
  std::printf("  figure %8.1f M events/s   ratio to floor %.2f\n", rate / 1e6, best / floor);
  std::printf("  bar    %8.1f M events/s   %s\n", kBar / 1e6, rate >= kBar ? "reached" : "MISSED");

  auto run = storage::RunFile::open(path);
  CHECK(run);
  std::printf("questions over %.1f M events\n", total / 1e6);
  ask(**run, "count(*) of all", "SELECT count(*) FROM event");
  ask(**run, "time by function", "SELECT sum(end_ns - begin_ns) FROM event GROUP BY function");
  ask(**run, "count(*) of one rank", "SELECT count(*) FROM event WHERE world = 0 AND rank = 5");
  ask(**run, "one rank, 1 ms",
      "SELECT count(*) FROM event WHERE rank = 5 AND begin_ns BETWEEN 1000000000 AND 1001000000");
  ask(**run, "function_total by function",
      "SELECT sum(calls) FROM function_total GROUP BY function");

  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(path + suffix);
    std::filesystem::remove(plain + suffix);
  }
  return rate >= kBar ? 0 : 1;
}
