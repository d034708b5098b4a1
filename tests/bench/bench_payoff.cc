// Whether fuzzy placement pays, by the model of tests/support/loaded_hosts.h: clusters with random
// loads, each placed evenly, by scores, at random and by who knows the model. Prints the table of
// docs/placement.md. The same bytes each run.
//
//   bench_payoff [TRIALS] [SEED]        100 and 1

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "tests/support/loaded_hosts.h"

namespace xylem::testing {
namespace {

using placement::Policy;

/// Ratios of pairs: the geometric mean and its 95 % interval, from the mean of logarithms.
class Ratios {
 public:
  void add(double ratio) { logs_.push_back(std::log(ratio)); }
  std::string text() const {
    const double n = static_cast<double>(logs_.size());
    double mean = 0;
    for (const double it : logs_) mean += it / n;
    double variance = 0;
    for (const double it : logs_) variance += (it - mean) * (it - mean) / (n - 1);
    const double half = 1.96 * std::sqrt(variance / n);
    char text[64];
    std::snprintf(text, sizeof text, "%.2g [%.2g, %.2g]", std::exp(mean), std::exp(mean - half),
                  std::exp(mean + half));
    return text;
  }

 private:
  std::vector<double> logs_;
};

struct Row {
  Ratios waves;
  Ratios delay;
  void add(const TreeSpeed& it, const TreeSpeed& even) {
    waves.add(it.waves / even.waves);
    delay.add(it.delay / even.delay);
  }
};

/// All placements of one cluster after the other. `stale`: the share of hosts whose load is another
/// by the time when the tree runs.
class Comparison {
 public:
  Comparison(std::size_t hosts, const std::string& shape, double stale)
      : hosts_(hosts), stale_(stale), shape_(*tree::parse_shape(shape)) {}

  void run(int trials, std::mt19937_64& random) {
    const auto skeleton = *tree::grow(shape_, hosts_);
    std::vector<HostId> any(hosts_);
    for (std::size_t i = 0; i < hosts_; ++i) any[i] = HostId{static_cast<std::uint32_t>(i)};
    for (int trial = 0; trial < trials; ++trial) {
      const auto seen = draw_loads(hosts_, random);
      auto loads = seen;
      redraw(loads, stale_, random);
      const auto even = speed(skeleton, place_by(Policy::kEven, shape_, seen), loads);
      fuzzy_.add(speed(skeleton, place_by(Policy::kFuzzy, shape_, seen), loads), even);
      std::ranges::shuffle(any, random);
      const std::span lot(any.data(), skeleton.comm_processes());
      random_.add(speed(skeleton, lot, loads), even);
      knowing_.add(speed(skeleton, place_knowingly(skeleton, loads), loads), even);
    }
  }

  void print(const std::string& first, const std::string& second) const {
    std::printf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", first.c_str(), second.c_str(),
                fuzzy_.waves.text().c_str(), random_.waves.text().c_str(),
                knowing_.waves.text().c_str(), fuzzy_.delay.text().c_str(),
                random_.delay.text().c_str(), knowing_.delay.text().c_str());
  }

 private:
  std::size_t hosts_;
  double stale_;
  tree::Shape shape_;
  Row fuzzy_, random_, knowing_;
};

void print_head(const char* first, const char* second) {
  std::printf(
      "\n| %s | %s | waves: fuzzy | random | knowing | delay: fuzzy | random | knowing |\n"
      "|---|---|---|---|---|---|---|---|\n",
      first, second);
}

int run(int trials, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::printf("%d clusters a row, seed %llu\n", trials, static_cast<unsigned long long>(seed));
  print_head("shape", "hosts");
  for (const char* shape : {"kary:16", "kary:4", "kary:2"}) {
    for (const std::size_t hosts : {64, 256, 1024, 4096}) {
      Comparison comparison(hosts, shape, 0);
      comparison.run(trials, random);
      comparison.print(shape, std::to_string(hosts));
    }
  }
  print_head("shape, 256 hosts", "loads that are others");
  for (const char* shape : {"kary:16", "kary:4"}) {
    for (const int percent : {10, 50, 100}) {
      Comparison comparison(256, shape, percent / 100.0);
      comparison.run(trials, random);
      comparison.print(shape, std::to_string(percent) + " %");
    }
  }
  return 0;
}

}  // namespace
}  // namespace xylem::testing

int main(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 100;
  if (trials < 2) {
    std::fputs("bench_payoff: give 2 trials or more\n", stderr);
    return 2;
  }
  return xylem::testing::run(trials, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
}
