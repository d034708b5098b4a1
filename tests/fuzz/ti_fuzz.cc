// Time-independent traces, and lists of them, of anybody: what can be read is written as a trace
// that reads back as the same program.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "predict/trace/ti_trace.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto files = predict::parse_ti_list(text, "fuzz")) {
    CHECK(!files->empty());
  } else {
    CHECK(files.error().message.starts_with("fuzz:"));
  }
  const std::vector<predict::TiFile> one{{"fuzz", text}};
  const auto program = predict::parse_ti(one);
  if (!program) {
    CHECK(program.error().code == Code::kInvalidArgument);
    CHECK(program.error().message.starts_with("fuzz:"));
    return 0;
  }
  const auto printed = predict::print_ti(*program);
  CHECK(printed);
  const std::vector<predict::TiFile> written{{"printed", *printed}};
  const auto again = predict::parse_ti(written);
  CHECK(again && *again == *program);
  return 0;
}
