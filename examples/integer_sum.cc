// The smallest tool. The front end asks all leaves for a number, and the tree adds up the answers.
//
// The question is a multicast. Each leaf sends its answer as the wave that has the number of the
// question. So each sum belongs to its question, also after a fault in the tree.

#include <xylem/backend/leaf.h>
#include <xylem/frontend/tree.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

namespace {

constexpr xylem::wire::FieldNumber kFactor = 1;   // Down.
constexpr xylem::wire::FieldNumber kProduct = 1;  // Up.
constexpr xylem::Nanos kPatience = 60 * xylem::kSecond;

// The error of each call is one sentence. A tool this small only prints it.
template <typename T>
T must(xylem::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "integer_sum: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void leaf() {
  const auto leaf = must(xylem::backend::Leaf::join());
  auto stream = must(leaf->stream("sum", kPatience));
  const auto own = static_cast<std::int64_t>(leaf->id());
  // receive() fails when the tree is closed.
  while (const auto question = stream.receive(kPatience)) {
    const auto factor = must(question->fields.get<std::int64_t>(kFactor));
    must(stream.send_wave(question->number, {{kProduct, factor * own}}));
  }
}

void front_end() {
  xylem::frontend::TreeOptions options;
  options.shape = "kary:4";
  options.back_end = {std::filesystem::canonical("/proc/self/exe"), "leaf"};
  options.back_ends_per_host = 16;
  const auto tree = must(xylem::frontend::Tree::start(std::move(options)));
  auto sum = must(tree->open({.name = "sum", .aggregation = "sum"}));
  for (std::int64_t factor = 1; factor <= 3; ++factor) {
    must(sum.multicast({{kFactor, factor}}));
    const auto wave = must(sum.receive(kPatience));
    std::printf("%lld times the ids of %llu leaves: %lld\n", static_cast<long long>(factor),
                static_cast<unsigned long long>(wave.sources.count()),
                static_cast<long long>(must(wave.fields.get<std::int64_t>(kProduct))));
  }
  must(tree->close(kPatience));
}

}  // namespace

int main(int argc, char** argv) {
  argc > 1 && argv[1] == std::string_view("leaf") ? leaf() : front_end();
}
