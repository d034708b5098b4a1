// Graph files of anybody: paths of what can be read are connected. Few random texts are graphs, so
// the bytes also choose the links of a text that often is.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "predict/network/topology.h"

using namespace xylem;

namespace {

/// Each byte links a node or a switch with a switch.
std::string chosen(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t it : bytes) {
    const std::string a = std::to_string(it % 16), b = std::to_string(it / 16 % 8);
    text += (it < 128 ? "s" : "") + a + " s" + b + "\n";
  }
  return text;
}

void check(std::string_view text) {
  const auto topology = predict::parse_graph(text, "fuzz");
  if (!topology) {
    CHECK(topology.error().code == Code::kInvalidArgument);
    CHECK(topology.error().message.starts_with("fuzz:"));
    return;
  }
  const predict::Topology& graph = **topology;
  const std::uint32_t nodes = std::min(graph.nodes(), 20u);
  std::vector<predict::ChannelId> path;
  for (std::uint32_t from = 0; from < nodes; ++from) {
    for (std::uint32_t to = 0; to < nodes; ++to) {
      graph.find_path(predict::Node{from}, predict::Node{to}, path);
      std::uint32_t at = from;
      for (const predict::ChannelId it : path) {
        CHECK(raw(graph.ends(it).from) == at);
        at = raw(graph.ends(it).to);
      }
      CHECK(at == to);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  check(std::string_view(reinterpret_cast<const char*>(bytes), size));
  check(chosen(std::span(bytes, size)));
  return 0;
}
