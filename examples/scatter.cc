// Divides work. The front end sends one array down, each leaf gets a part of the array, and the
// tree adds up the results. Then the front end divides the same work among only four of the leaves.

#include <xylem/backend/leaf.h>
#include <xylem/frontend/tree.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using xylem::IntervalSet;
constexpr xylem::wire::FieldNumber kStarts = 1, kLength = 2;  // Goes down: an array, a number.
constexpr xylem::wire::FieldNumber kPrimes = 1;               // Comes up.
constexpr xylem::Nanos kPatience = 60 * xylem::kSecond;
constexpr std::int64_t kRange = 1000;
constexpr std::int64_t kRanges = 100;

template <typename T>
T must(xylem::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "scatter: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

bool is_prime(std::int64_t number) {
  for (std::int64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number > 1;
}

// Work may come on either stream. The leaf answers on the stream of the work.
void leaf() {
  const auto leaf = must(xylem::backend::Leaf::join());
  for (;;) {
    const auto work = leaf->receive(kPatience);
    if (!work) break;  // The tree is closed.
    const auto starts = must(work->fields.get<std::vector<std::int64_t>>(kStarts));
    const auto length = must(work->fields.get<std::int64_t>(kLength));
    std::int64_t primes = 0;
    for (const std::int64_t start : starts) {
      for (std::int64_t number = start; number < start + length; ++number) {
        primes += is_prime(number) ? 1 : 0;
      }
    }
    auto stream = must(leaf->stream(work->stream, kPatience));
    must(stream.send_wave(work->number, {{kPrimes, primes}}));
  }
}

void front_end() {
  xylem::frontend::TreeOptions options;
  options.shape = "kary:4";
  options.back_end = {std::filesystem::canonical("/proc/self/exe"), "leaf"};
  options.back_ends_per_host = 16;
  const auto tree = must(xylem::frontend::Tree::start(std::move(options)));

  std::vector<std::int64_t> starts;
  for (std::int64_t range = 0; range < kRanges; ++range) starts.push_back(range * kRange);
  const xylem::wire::Fields work{{kStarts, starts}, {kLength, kRange}};

  // The array is divided among the leaves. Each leaf gets the number.
  auto all = must(tree->open({.name = "all", .aggregation = "sum", .narrowing = "scatter"}));
  must(all.multicast(work));
  const auto sum = must(all.receive(kPatience));
  std::printf("%llu leaves: %lld primes below %lld\n",
              static_cast<unsigned long long>(sum.sources.count()),
              static_cast<long long>(must(sum.fields.get<std::int64_t>(kPrimes))),
              static_cast<long long>(kRange * kRanges));

  // This multicast names four leaves, and the array is divided among them. The other leaves do not
  // answer. With kAsItComes no node waits for them, and the answer comes in parts.
  auto some = must(tree->open({.name = "some",
                               .synchronisation = xylem::frontend::Synchronisation::kAsItComes,
                               .aggregation = "sum",
                               .narrowing = "scatter"}));
  IntervalSet four;
  for (const auto& leaf : tree->leaves()) {
    if (four.count() < 4) four.insert(static_cast<std::uint32_t>(leaf.id));
  }
  must(some.multicast(work, four));
  IntervalSet answered;
  std::int64_t primes = 0;
  while (answered.count() < four.count()) {
    const auto part = must(some.receive(kPatience));
    answered.insert(part.sources);
    primes += must(part.fields.get<std::int64_t>(kPrimes));
  }
  std::printf("%llu of them alone: %lld\n", static_cast<unsigned long long>(answered.count()),
              static_cast<long long>(primes));
  must(tree->close(kPatience));
}

}  // namespace

int main(int argc, char** argv) {
  argc > 1 && argv[1] == std::string_view("leaf") ? leaf() : front_end();
}
