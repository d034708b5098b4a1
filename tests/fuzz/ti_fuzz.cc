// Time-independent traces, and lists of them, of anybody: what can be read is written as a trace
// that reads back as the same program.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "predict/trace/program.h"
#include "predict/trace/ti_trace.h"

using namespace xylem;

/// A collective action makes more operations than it has characters.
constexpr std::uint64_t kMaxOperations = 1 << 16;

bool has_collectives(const predict::Program& program) {
  return std::ranges::any_of(program.ranks, [](const predict::RankProgram& rank) {
    return std::ranges::any_of(rank.operations(), [](const predict::Operation& it) {
      return it.tag >= predict::kFirstCollectiveTag && it.tag != predict::kAnyTag;
    });
  });
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto files = predict::parse_ti_list(text, "fuzz")) {
    CHECK(!files->empty());
  } else {
    CHECK(files.error().message.starts_with("fuzz:"));
  }
  const std::vector<predict::TiFile> one{{"fuzz", text}};
  predict::TiOptions options;
  options.max_collective_operations = kMaxOperations;
  const auto program = predict::parse_ti(one, options);
  if (!program) {
    CHECK(program.error().code == Code::kInvalidArgument);
    CHECK(program.error().message.starts_with("fuzz:"));
    return 0;
  }
  const auto printed = predict::print_ti(*program);
  // A trace cannot say that some of several open requests are awaited at once, as a collective call
  // beside an open request does.
  CHECK(printed || has_collectives(*program));
  if (!printed) return 0;
  const std::vector<predict::TiFile> written{{"printed", *printed}};
  const auto again = predict::parse_ti(written);
  CHECK(again && *again == *program);
  return 0;
}
