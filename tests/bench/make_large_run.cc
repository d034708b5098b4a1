// Makes the file of a large run, to look at with the page or to measure with `bench_view FILE`.
//
//   make_large_run FILE [RANKS [SECONDS [EVENTS [SEED]]]] [NAME=NUMBER]...
//
// Names: ranks_a_host, values, neighbours, strangers, live_seconds; tests/support/large_run.h says
// what they are.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "tests/support/large_run.h"

namespace {

using namespace xylem;

/// Takes "NAME=NUMBER". False: there is no such name.
bool set(testing::LargeRun& run, std::string_view setting) {
  const std::size_t end = setting.find('=');
  const std::string_view name = setting.substr(0, end);
  const auto number =
      static_cast<std::uint32_t>(std::strtoul(setting.data() + end + 1, nullptr, 10));
  const auto take = [&](std::string_view known, auto& into) {
    if (name == known) into = number;
    return name == known;
  };
  return take("ranks_a_host", run.ranks_a_host) || take("values", run.values) ||
         take("neighbours", run.neighbours) || take("strangers", run.strangers) ||
         take("live_seconds", run.live_seconds);
}

}  // namespace

int main(int argc, char** argv) {
  testing::LargeRun run;
  int places = argc;  // Up to the first name.
  while (places > 2 && std::string_view(argv[places - 1]).find('=') != std::string_view::npos) {
    if (!set(run, argv[--places])) {
      std::fprintf(stderr, "make_large_run: '%s' is no setting\n", argv[places]);
      return 2;
    }
  }
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: make_large_run FILE [RANKS [SECONDS [EVENTS [SEED]]]] [NAME=NUMBER]...\n");
    return 2;
  }
  if (places > 2) run.ranks = static_cast<std::uint32_t>(std::atoi(argv[2]));
  if (places > 3) run.seconds = static_cast<std::uint64_t>(std::atoll(argv[3]));
  if (places > 4) run.events = static_cast<std::uint64_t>(std::atof(argv[4]));
  if (places > 5) run.seed = static_cast<std::uint32_t>(std::atoi(argv[5]));
  if (run.ranks < 2 || run.seconds < 1 || run.ranks_a_host < 1 || run.values < 4) {
    std::fprintf(stderr, "make_large_run: at least two ranks, a second, a rank a host, 4 values\n");
    return 2;
  }
  const Nanos start = monotonic_now();
  testing::write_large_run(run, argv[1]);
  std::printf("%s: %s; %.1f MiB, written in %.1f s\n", argv[1], testing::describe(run).c_str(),
              static_cast<double>(std::filesystem::file_size(argv[1])) / (1 << 20),
              static_cast<double>(monotonic_now() - start) / 1e9);
  return 0;
}
