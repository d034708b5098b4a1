// Topology texts of anybody: what can be read prints as a text that reads back as the same tree.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "tree/topology_text.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto file = tree::parse_topology(text, "fuzz");
  if (!file) {
    CHECK(file.error().code == Code::kInvalidArgument);
    CHECK(file.error().message.starts_with("fuzz:"));
    return 0;
  }
  CHECK(file->lines.size() == file->topology.size());
  const auto again = tree::parse_topology(tree::print(file->topology), "printed");
  CHECK(again && again->topology == file->topology);
  return 0;
}
