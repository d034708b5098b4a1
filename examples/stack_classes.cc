// Groups leaves as a stack-trace tool does. Each leaf sends the stack of its process. The front end
// receives classes of leaves with equal stacks. A class is sent as one stack and the intervals of
// its leaves, for any number of leaves.
//
// A real tool would read the stacks of other processes. The stacks here are invented.

#include <xylem/backend/leaf.h>
#include <xylem/filters/classes.h>
#include <xylem/frontend/tree.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace classes = xylem::filters::classes;  // The field numbers of the filter.
constexpr xylem::Nanos kPatience = 60 * xylem::kSecond;

template <typename T>
T must(xylem::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "stack_classes: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// One process is late, and its neighbour waits for it. All others wait in a barrier.
std::string stack_of(std::size_t leaf) {
  if (leaf == 5) return "main;solve;compute";
  if (leaf == 6) return "main;solve;MPI_Recv";
  return "main;solve;MPI_Barrier";
}

void leaf() {
  const auto leaf = must(xylem::backend::Leaf::join());
  auto stream = must(leaf->stream("stacks", kPatience));
  while (const auto sample = stream.receive(kPatience)) {
    const std::string stack = stack_of(static_cast<std::size_t>(leaf->id()));
    must(stream.send_wave(sample->number, {{classes::kValue, stack}}));
  }
}

void front_end() {
  xylem::frontend::TreeOptions options;
  options.shape = "kary:4";
  options.back_end = {std::filesystem::canonical("/proc/self/exe"), "leaf"};
  options.back_ends_per_host = 16;
  const auto tree = must(xylem::frontend::Tree::start(std::move(options)));
  auto stacks = must(tree->open({.name = "stacks", .aggregation = "classes"}));
  must(stacks.multicast({}));  // "Take a sample."
  const auto wave = must(stacks.receive(kPatience));
  const auto values = must(wave.fields.get<std::vector<std::string>>(classes::kValues));
  const auto leaves = must(xylem::filters::leaves_of_classes(wave.fields));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%2llu leaves (%s) at %s\n", static_cast<unsigned long long>(leaves[i].count()),
                leaves[i].to_string().c_str(), values[i].c_str());
  }
  must(tree->close(kPatience));
}

}  // namespace

int main(int argc, char** argv) {
  argc > 1 && argv[1] == std::string_view("leaf") ? leaf() : front_end();
}
