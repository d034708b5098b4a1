// Runs the model on its own: many seeds, one line each.
//
//   chaos [--runs N] [--tell]       seed from XYLEM_SEED or the clock; XYLEM_CHAOS_BREAK=RULE
//
// Ends with 1 as soon as a run is wrong, 0 otherwise; with a broken rule that is what one wants.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"
#include "tests/model/chaos.h"

int main(int argc, char** argv) {
  using namespace xylem;
  std::uint64_t runs = 100;
  model::ChaosOptions options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--tell") == 0) options.tells = true;
    if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = std::strtoull(argv[++i], nullptr, 10);
  }
  const char* rule = std::getenv("XYLEM_CHAOS_BREAK");
  const auto broken = model::parse_break(rule == nullptr ? "" : rule);
  if (!broken) return std::fprintf(stderr, "%s\n", broken.error().message.c_str()), 2;
  options.broken = *broken;
  const char* seed = std::getenv("XYLEM_SEED");
  options.seed = seed != nullptr ? std::strtoull(seed, nullptr, 10)
                                 : static_cast<std::uint64_t>(realtime_now() / kMillisecond);
  configure_log("chaos", options.tells ? Level::kInfo : Level::kError,
                options.tells ? "" : "/dev/null");
  std::uint64_t steps = 0;
  for (std::uint64_t run = 0; run < runs; ++run, ++options.seed) {
    const model::ChaosOutcome outcome = model::run_chaos(options);
    steps += outcome.steps;
    std::printf("%s\n", model::to_line(outcome).c_str());
    if (!outcome.is_right()) return 1;
  }
  std::printf("%llu steps\n", static_cast<unsigned long long>(steps));
  return 0;
}
