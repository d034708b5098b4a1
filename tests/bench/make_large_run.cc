// Makes the file of a large run, to look at with the page or to measure with `bench_view FILE`.
//
//   make_large_run FILE [RANKS [SECONDS [EVENTS [SEED]]]]

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/support/large_run.h"

int main(int argc, char** argv) {
  using namespace xylem;
  testing::LargeRun run;
  if (argc < 2) {
    std::fprintf(stderr, "usage: make_large_run FILE [RANKS [SECONDS [EVENTS [SEED]]]]\n");
    return 2;
  }
  if (argc > 2) run.ranks = static_cast<std::uint32_t>(std::atoi(argv[2]));
  if (argc > 3) run.seconds = static_cast<std::uint64_t>(std::atoll(argv[3]));
  if (argc > 4) run.events = static_cast<std::uint64_t>(std::atof(argv[4]));
  if (argc > 5) run.seed = static_cast<std::uint32_t>(std::atoi(argv[5]));
  if (run.ranks < 2 || run.seconds < 1) {
    std::fprintf(stderr, "make_large_run: at least two ranks and a second\n");
    return 2;
  }
  const Nanos start = monotonic_now();
  testing::write_large_run(run, argv[1]);
  std::printf("%s: %s; %.1f MiB, written in %.1f s\n", argv[1], testing::describe(run).c_str(),
              static_cast<double>(std::filesystem::file_size(argv[1])) / (1 << 20),
              static_cast<double>(monotonic_now() - start) / 1e9);
  return 0;
}
