// Receives two streams at the same time. On one stream every leaf sends its load, and the tree
// computes the mean. On the other stream every leaf sometimes sends a line of text, which the tree
// does not merge. One coroutine receives each stream.

#include <xylem/backend/leaf.h>
#include <xylem/filters/moments.h>
#include <xylem/frontend/tree.h>

#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <future>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace moments = xylem::filters::moments;  // The field numbers of the filter.
constexpr xylem::wire::FieldNumber kLine = 1;
constexpr xylem::Nanos kPatience = 60 * xylem::kSecond;
constexpr int kLeaves = 16;
constexpr int kWaves = 100;

template <typename T>
T must(xylem::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "two_streams: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// A coroutine that returns a number. Any coroutine type can await the awaitables of xylem.
struct Counting {
  struct promise_type {
    std::promise<int> end;
    Counting get_return_object() { return {end.get_future()}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_value(int value) { end.set_value(value); }
    void unhandled_exception() { end.set_exception(std::current_exception()); }
  };
  std::future<int> end;
};

void leaf() {
  const auto leaf = must(xylem::backend::Leaf::join());
  auto load = must(leaf->stream("load", kPatience));
  auto lines = must(leaf->stream("lines", kPatience));
  const std::string own = std::to_string(static_cast<std::uint32_t>(leaf->id()));
  for (int wave = 0; wave < kWaves; ++wave) {
    must(load.send({{moments::kValue, static_cast<double>(wave)}}));
    if (wave % 50 == 0) must(lines.send({{kLine, "leaf " + own + " at " + std::to_string(wave)}}));
  }
  must(leaf->wait_until_closed(kPatience));
}

Counting count_right_means(xylem::frontend::Stream load) {
  int right = 0;
  for (int i = 0; i < kWaves; ++i) {
    const auto wave = must(co_await load.async_receive(kPatience));
    const double mean = must(wave.fields.get<double>(moments::kMean));
    right += wave.sources.count() == kLeaves && mean == static_cast<double>(wave.number) ? 1 : 0;
  }
  co_return right;
}

Counting count_lines(xylem::frontend::Stream lines) {
  int count = 0;
  while (count < 2 * kLeaves) {
    const auto wave = must(co_await lines.async_receive(kPatience));
    count += must(wave.fields.get<std::string>(kLine)).starts_with("leaf ") ? 1 : 0;
  }
  co_return count;
}

void front_end() {
  xylem::frontend::TreeOptions options;
  options.shape = "kary:4";
  options.back_end = {std::filesystem::canonical("/proc/self/exe"), "leaf"};
  options.back_ends_per_host = kLeaves;
  const auto tree = must(xylem::frontend::Tree::start(std::move(options)));
  Counting means = count_right_means(must(tree->open({.name = "load", .aggregation = "moments"})));
  Counting lines = count_lines(must(tree->open({.name = "lines"})));
  std::printf("%d means of %d leaves are right\n", means.end.get(), kLeaves);
  std::printf("%d lines came as they were\n", lines.end.get());
  must(tree->close(kPatience));
}

}  // namespace

int main(int argc, char** argv) {
  argc > 1 && argv[1] == std::string_view("leaf") ? leaf() : front_end();
}
