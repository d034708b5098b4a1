// How long the tables `message` and `wait_state` take over a large trace.
//
//   bench_waits [FOLDER [RANKS [STEPS]]]
//
// Writes a run to FOLDER (default: a temporary folder): RANKS ranks in a ring (64) make STEPS steps
// (20000). In each step a rank posts a receive from its left neighbour, sends to its right one,
// waits for both, and takes part in an MPI_Allreduce in each tenth step. Prints events per second,
// and the process's largest memory. The floor is to decode all chunks: SELECT count(*) FROM event.

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "storage/read/query.h"
#include "tests/unit/storage/packets.h"

namespace xylem::storage {
namespace {

using wire::Event;

constexpr FunctionId kIsendId{0}, kIrecvId{1}, kWaitallId{2}, kAllreduceId{3};

Event event(FunctionId function, Nanos begin, Nanos end) {
  Event made;
  made.function = function;
  made.begin_ns = begin;
  made.end_ns = end;
  made.comm = CommId{0};
  return made;
}

class Ring {
 public:
  Ring(Store& store, std::uint32_t ranks) : store_(store), events_(ranks), first_(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      wire::Registration registration;
      registration.host = "node" + std::to_string(rank);
      registration.functions = {{kIsendId, "MPI_Isend", 1},
                                {kIrecvId, "MPI_Irecv", 1},
                                {kWaitallId, "MPI_Waitall", 3},
                                {kAllreduceId, "MPI_Allreduce", 2}};
      registration.processes = {process_row(1, rank, 1, ranks)};
      CHECK(store_.put(
          wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(rank)},
                       wire::encode(registration))));
    }
  }

  void run(std::uint32_t steps) {
    const auto ranks = static_cast<std::uint32_t>(events_.size());
    std::vector<Nanos> at(ranks), begin(ranks);
    for (std::uint32_t step = 0; step < steps; ++step) {
      for (std::uint32_t r = 0; r < ranks; ++r) {
        begin[r] = at[r] + 1000 + static_cast<Nanos>(random_() % 2000);
      }
      for (std::uint32_t r = 0; r < ranks; ++r) at[r] = exchange(r, step, begin);
      if (step % 10 == 9) {
        const Nanos last = std::ranges::max(at);
        for (std::uint32_t r = 0; r < ranks; ++r) {
          Event call = event(kAllreduceId, at[r], last + 500);
          call.flags = wire::kEventNumbered;
          call.number = step / 10;
          add(r, call);
          at[r] = last + 500;
        }
      }
    }
    for (std::uint32_t r = 0; r < ranks; ++r) put(r);
    CHECK(store_.commit());
  }
  std::uint64_t written() const { return written_; }

 private:
  Nanos exchange(std::uint32_t r, std::uint32_t step, const std::vector<Nanos>& begin) {
    const auto ranks = static_cast<std::uint32_t>(events_.size());
    const std::uint32_t left = (r + ranks - 1) % ranks;
    const Nanos sent = begin[left] + 300, waits = begin[r] + 700;
    const Nanos end = std::max(waits, sent) + 400;
    Event post = event(kIrecvId, begin[r], begin[r] + 200);
    post.request = 17;
    add(r, post);
    Event send = event(kIsendId, begin[r] + 300, begin[r] + 600);
    send.request = 18;
    send.peer = static_cast<std::int32_t>((r + 1) % ranks);
    send.flags = wire::kEventSend | wire::kEventNumbered;
    send.number = step;
    send.tag = 1;
    send.bytes = 4096;
    add(r, send);
    add(r, event(kWaitallId, waits, end));
    Event got = event(kWaitallId, waits, end);
    got.kind = wire::kKindCompletion;
    got.calls = 0;
    got.request = 17;
    got.peer = static_cast<std::int32_t>(left);
    got.flags = wire::kEventReceive | wire::kEventNumbered;
    got.number = step;
    got.tag = 1;
    got.bytes = 4096;
    add(r, got);
    return end;
  }
  void add(std::uint32_t rank, const Event& of) {
    events_[rank].push_back(of);
    if (events_[rank].size() == wire::kMaxChunkEvents) put(rank);
  }
  void put(std::uint32_t rank) {
    if (events_[rank].empty()) return;
    CHECK(store_.put(wire::Packet({wire::kChunkStream, Lane{1}, first_[rank],
                                   first_[rank] + events_[rank].size(), IntervalSet::of(rank)},
                                  encoder_.encode(events_[rank]))));
    first_[rank] += events_[rank].size();
    written_ += events_[rank].size();
    events_[rank].clear();
  }

  Store& store_;
  std::vector<std::vector<Event>> events_;
  std::vector<std::uint64_t> first_;
  wire::ChunkEncoder encoder_;
  std::mt19937 random_{7};
  std::uint64_t written_ = 0;
};

rusage usage() {
  rusage of{};
  ::getrusage(RUSAGE_SELF, &of);
  return of;
}
long peak_mib() { return usage().ru_maxrss / 1024; }
double cpu_seconds() {
  const auto seconds = [](const timeval& of) {
    return static_cast<double>(of.tv_sec) + static_cast<double>(of.tv_usec) / 1e6;
  };
  const rusage of = usage();
  return seconds(of.ru_utime) + seconds(of.ru_stime);
}

void measure(const std::string& path, std::uint64_t events, const char* sql) {
  auto run = RunFile::open(path);
  CHECK(run);
  const double begin = cpu_seconds();
  const auto rows = (*run)->rows(sql);
  CHECK(rows);
  const double took = cpu_seconds() - begin;
  std::printf("%-60s %8.2f s  %6.1f M events/s  %s  (%ld MiB)\n", sql, took,
              static_cast<double>(events) / took / 1e6, to_text((*rows)[0][0]).c_str(), peak_mib());
}

}  // namespace
}  // namespace xylem::storage

int main(int count, char** arguments) {
  using namespace xylem::storage;
  const Folder own;
  const std::string folder = count > 1 ? arguments[1] : own.path();
  const auto ranks = static_cast<std::uint32_t>(count > 2 ? std::stoul(arguments[2]) : 64);
  const auto steps = static_cast<std::uint32_t>(count > 3 ? std::stoul(arguments[3]) : 20000);
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/waits.db";
  SqliteOptions options;
  options.path = path;
  options.overwrite = true;
  std::uint64_t events = 0;
  {
    auto store = make_sqlite_store(options);
    CHECK(store);
    CHECK((*store)->begin_run({}));
    Ring ring(**store, ranks);
    ring.run(steps);
    events = ring.written();
  }
  std::printf("%u ranks, %llu events, %llu bytes (%ld MiB)\n", ranks,
              static_cast<unsigned long long>(events),
              static_cast<unsigned long long>(std::filesystem::file_size(path)), peak_mib());
  measure(path, events, "SELECT count(*) FROM event");
  measure(path, events, "SELECT count(*) FROM message WHERE received_ns - sent_ns > 0");
  measure(path, events, "SELECT sum(time_ns) FROM wait_state");
  return 0;
}
