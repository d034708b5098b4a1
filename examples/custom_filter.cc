// Uses its own aggregation. longest_word.cc is built as a shared object, which is in the folder of
// this program. Every node of the tree loads this file. If a node has another file, open() fails
// and reports the host and the reason.

#include <xylem/backend/leaf.h>
#include <xylem/frontend/tree.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace {

constexpr xylem::wire::FieldNumber kWord = 1;
constexpr xylem::Nanos kPatience = 60 * xylem::kSecond;

template <typename T>
T must(xylem::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "custom_filter: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void leaf() {
  static const char* const kWords[] = {"root", "xylem", "cambium", "bark", "phloem"};
  const auto leaf = must(xylem::backend::Leaf::join());
  auto stream = must(leaf->stream("words", kPatience));
  must(stream.send({{kWord, std::string(kWords[static_cast<std::size_t>(leaf->id()) % 5])}}));
  must(leaf->wait_until_closed(kPatience));
}

void front_end() {
  const std::filesystem::path program = std::filesystem::canonical("/proc/self/exe");
  xylem::frontend::TreeOptions options;
  options.shape = "kary:4";
  options.back_end = {program, "leaf"};
  options.back_ends_per_host = 16;
  const auto tree = must(xylem::frontend::Tree::start(std::move(options)));
  auto words = must(tree->open({
      .name = "words",
      .aggregation = "longest_word",
      .plugin = program.parent_path() / "longest_word.so",
  }));
  const auto wave = must(words.receive(kPatience));
  std::printf("the longest word of %llu leaves: %s\n",
              static_cast<unsigned long long>(wave.sources.count()),
              must(wave.fields.get<std::string>(kWord)).c_str());
  must(tree->close(kPatience));
}

}  // namespace

int main(int argc, char** argv) {
  argc > 1 && argv[1] == std::string_view("leaf") ? leaf() : front_end();
}
