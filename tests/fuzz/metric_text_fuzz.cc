// What a program of a service prints: anything.

#include <cstdint>
#include <string_view>

#include "backend/host/metric_text.h"
#include "base/check.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const backend::MetricText text =
      backend::parse_metrics({reinterpret_cast<const char*>(bytes), size});
  CHECK(text.lines.size() <= backend::kMaxMetrics && text.first_bad.size() <= 60);
  for (const char c : text.first_bad) CHECK(c >= ' ' && c <= '~');
  for (const backend::MetricLine& line : text.lines) {
    CHECK(!line.name.empty() && line.name.size() <= backend::kLongestMetricName);
    for (const char c : line.name) CHECK(c >= ' ' && c != '\x7f');
    // As it would be printed again, it is taken for the same.
    const auto again = backend::parse_metrics(line.name + " 1\n");
    CHECK(again.lines.size() == 1 && again.lines[0].name == line.name);
  }
  return 0;
}
