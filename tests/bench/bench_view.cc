// How fast the views of a large run are answered, at the server: RunView, its JSON and gzip, as the
// page asks for them, without HTTP.
//
//   bench_view [RANKS [SECONDS [EVENTS [FOLDER]]]]     defaults: 64 600 5e6 $TMPDIR or /tmp
//   bench_view FILE                                     a run that is there, of make_large_run
//
// tests/support/large_run.h says what the run is like. Each question is asked 20 times, opening
// the file each time as the server does, over random ranges where it has one. Bar: 200 ms at the
// 95th percentile (1024 ranks, 3600 s; 100e6 events). Processor time is told beside the clock's,
// and the load average: where the machine does something else as well, the clock says little.

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "storage/read/run_view.h"
#include "tests/support/large_run.h"
#include "viz/answers.h"
#include "viz/compression.h"
#include "viz/reply.h"

namespace {

using namespace xylem;
using namespace xylem::storage;
using namespace xylem::testing;

constexpr int kTimes = 20;
constexpr double kBarMs = 200;

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// Asks, prints, and says whether the bar was reached.
bool ask(const char* what, const std::string& path,
         const std::function<std::size_t(RunView&)>& question) {
  std::vector<double> took, used;
  std::size_t bytes = 0;
  for (int i = 0; i < kTimes; ++i) {
    const Nanos start = monotonic_now();
    const double cpu_start = cpu_ms();
    auto view = RunView::open(path);
    CHECK(view);
    bytes = std::max(bytes, question(*view));
    took.push_back(static_cast<double>(monotonic_now() - start) / 1e6);
    used.push_back(cpu_ms() - cpu_start);
    if (took.back() > 5000 && i >= 2) break;  // It is known by now.
  }
  std::ranges::sort(took);
  std::ranges::sort(used);
  const auto share_of = [](const std::vector<double>& sorted, std::size_t percent) {
    return sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)];
  };
  const bool is_good = share_of(took, 95) <= kBarMs;
  std::printf("  %-38s %8.1f %8.1f %8.1f %8.1f ms %8.1f KiB  %s\n", what, share_of(used, 50),
              share_of(used, 95), share_of(took, 50), share_of(took, 95),
              static_cast<double>(bytes) / 1024, is_good ? "reached" : "MISSED");
  std::fflush(stdout);
  return is_good;
}

template <typename Answer, typename... How>
std::size_t size_of(const Result<Answer>& answer, How... how) {
  CHECK(answer);
  return viz::compressed(viz::json_reply(viz::to_json(*answer, how...)), "gzip").body.size();
}

Nanos length_of(const std::string& path) {
  auto view = RunView::open(path);
  CHECK(view);
  const auto scope = view->scope();
  CHECK(scope);
  return scope->run_end_ns;
}

bool ask_all(Nanos whole, const std::string& path) {
  std::mt19937 random(7);
  const auto range = [&](Nanos length) {
    const Nanos begin =
        static_cast<Nanos>(random()) * kMillisecond % std::max<Nanos>(whole - length, 1);
    return TimeRange{begin, begin + length};
  };
  const auto ranks = [](std::uint64_t first, std::uint64_t end) {
    return RankRange{WorldId{0}, first, end};
  };
  const RankValue mpi = RankValue::kMpi;
  bool good = true;
  const auto that = [&](const char* what, const std::function<std::size_t(RunView&)>& question) {
    good &= ask(what, path, question);
  };
  that("overview", [](RunView& v) { return size_of(v.overview()); });
  that("ranks x time, all", [&](RunView& v) { return size_of(v.ranks({.columns = 400}), mpi, 4); });
  that("ranks x time, 60 s", [&](RunView& v) {
    return size_of(v.ranks({.range = range(60 * kSecond), .columns = 400}), mpi, 4);
  });
  that("functions, sums", [](RunView& v) { return size_of(v.functions({})); });
  that("functions, series and distribution",
       [](RunView& v) { return size_of(v.functions({.series = 100, .distribution = true})); });
  that("functions, 60 s",
       [&](RunView& v) { return size_of(v.functions({.range = range(60 * kSecond)})); });
  that("matrix", [](RunView& v) { return size_of(v.matrix({}), MatrixValue::kMessages); });
  that("timeline, all: windows", [](RunView& v) { return size_of(v.timeline({}), 3); });
  that("timeline, 64 ranks, 10 ms: calls", [&](RunView& v) {
    return size_of(v.timeline({.ranks = ranks(0, 64), .range = range(10 * kMillisecond)}));
  });
  that("timeline, 8 ranks, 1 s: calls", [&](RunView& v) {
    return size_of(v.timeline({.ranks = ranks(0, 8), .range = range(kSecond)}));
  });
  that("timeline, 8 ranks, 10 s: densities", [&](RunView& v) {
    return size_of(v.timeline({.ranks = ranks(0, 8), .range = range(10 * kSecond)}), 3);
  });
  that("search of a tag that no call has", [&](RunView& v) {
    return size_of(v.search({.ranks = ranks(0, 64), .range = range(10 * kSecond), .tag = -77}));
  });
  that("matrix of waits", [](RunView& v) {
    return size_of(v.matrix({.value = MatrixValue::kWaits}), MatrixValue::kWaits);
  });
  that("series of a service, all hosts",
       [](RunView& v) { return size_of(v.series({.name = "cpu.busy", .limit = 24}), 4); });
  that("series of a service, 60 s", [&](RunView& v) {
    return size_of(v.series({.name = "cpu.busy", .range = range(60 * kSecond), .limit = 24}), 4);
  });
  that("series of a service, 256 hosts",
       [](RunView& v) { return size_of(v.series({.name = "cpu.busy"}), 4); });
  that("series of facts, all hosts",
       [](RunView& v) { return size_of(v.series({.name = "idle", .limit = 24}), 4); });
  that("hosts", [](RunView& v) { return size_of(v.hosts()); });
  that("tree", [](RunView& v) { return size_of(v.tree()); });
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  LargeRun run;
  run.seconds = 600;
  run.events = 5'000'000;
  const bool is_made = argc > 1 && std::atoi(argv[1]) > 0;
  if (is_made) run.ranks = static_cast<std::uint32_t>(std::atoi(argv[1]));
  if (is_made && argc > 2) run.seconds = static_cast<std::uint64_t>(std::atoll(argv[2]));
  if (is_made && argc > 3) run.events = static_cast<std::uint64_t>(std::atof(argv[3]));
  const char* const tmpdir = std::getenv("TMPDIR");
  const std::string folder = argc > 4 ? argv[4] : tmpdir != nullptr ? tmpdir : "/tmp";
  if (run.ranks < 2 || run.seconds < 1) return 2;
  const bool makes = argc < 2 || is_made;
  const std::string path =
      makes ? folder + "/xylem-bench-view-" + std::to_string(::getpid()) + ".db" : argv[1];
  const Nanos start = monotonic_now();
  if (makes) write_large_run(run, path);
  std::printf("view: %s: %.1f MiB, written in %.1f s\n",
              makes ? describe(run).c_str() : path.c_str(),
              static_cast<double>(std::filesystem::file_size(path)) / (1 << 20),
              makes ? static_cast<double>(monotonic_now() - start) / 1e9 : 0.0);
  double load = 0;
  static_cast<void>(::getloadavg(&load, 1));
  std::printf("  load average %.1f\n", load);
  std::printf("  %-38s %8s %8s %8s %11s %12s  bar %.0f ms\n", "", "CPU p50", "p95", "wall p50",
              "p95", "answer", kBarMs);
  const bool good = ask_all(length_of(path), path);
  if (makes) {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  }
  return good ? 0 : 1;
}
