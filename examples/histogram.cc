// Makes one histogram of arrays. Each leaf sends a thousand durations at once. The front end sets
// the bounds of the buckets, and receives the counts of sixteen thousand values. The values
// themselves are not sent above the leaves.

#include <xylem/backend/leaf.h>
#include <xylem/filters/histogram.h>
#include <xylem/frontend/tree.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace histogram = xylem::filters::histogram;  // The field numbers of the filter.
constexpr xylem::Nanos kPatience = 60 * xylem::kSecond;

template <typename T>
T must(xylem::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "histogram: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void leaf() {
  const auto leaf = must(xylem::backend::Leaf::join());
  auto stream = must(leaf->stream("durations", kPatience));
  std::vector<double> milliseconds;
  for (int i = 0; i < 1000; ++i) milliseconds.push_back(i * 0.25);
  must(stream.send({{histogram::kValue, std::move(milliseconds)}}));
  // close() first delivers what was sent.
  must(leaf->close(kPatience));
}

void front_end() {
  xylem::frontend::TreeOptions options;
  options.shape = "kary:4";
  options.back_end = {std::filesystem::canonical("/proc/self/exe"), "leaf"};
  options.back_ends_per_host = 16;
  const auto tree = must(xylem::frontend::Tree::start(std::move(options)));
  auto stream = must(tree->open({
      .name = "durations",
      .aggregation = "histogram",
      .parameters = {{histogram::kGivenBounds, std::vector<double>{1, 10, 100}}},
  }));
  const auto wave = must(stream.receive(kPatience));
  const auto bounds = must(wave.fields.get<std::vector<double>>(histogram::kBounds));
  const auto counts = must(wave.fields.get<std::vector<std::uint64_t>>(histogram::kCounts));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::printf("from %4g ms: %llu\n", i == 0 ? -INFINITY : bounds[i - 1],
                static_cast<unsigned long long>(counts[i]));
  }
  must(tree->close(kPatience));
}

}  // namespace

int main(int argc, char** argv) {
  argc > 1 && argv[1] == std::string_view("leaf") ? leaf() : front_end();
}
