// Configuration files, durations and sizes of anybody.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/config.h"

using namespace xylem;

namespace {

void expect_reason(const Error& error) {
  CHECK(error.code == Code::kInvalidArgument && !error.message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto duration = parse_duration(text)) {
    CHECK(*duration >= 0);
  } else {
    expect_reason(duration.error());
  }
  if (const auto amount = parse_size(text)) {
    CHECK(*amount >= 0);
  } else {
    expect_reason(amount.error());
  }
  const auto entries = parse_config(text, "fuzz");
  if (!entries) {
    expect_reason(entries.error());
    CHECK(entries.error().message.starts_with("fuzz:"));
    return 0;
  }
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  for (const ConfigEntry& entry : *entries) {
    CHECK(entry.line >= 1 && entry.line <= lines);  // A key may be empty: '' = 1.
  }
  return 0;
}
