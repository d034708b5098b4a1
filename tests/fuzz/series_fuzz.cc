// Samples of services from a peer that has the key and lies.

#include <cstdint>

#include "base/check.h"
#include "wire/series.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto sample = wire::decode_series(std::as_bytes(std::span(bytes, size)));
  if (!sample) {
    CHECK(sample.error().code == Code::kCorrupt && !sample.error().message.empty());
    return 0;
  }
  std::size_t numbers = 0;
  for (const wire::SeriesEntry& entry : sample->entries) numbers += entry.numbers.size();
  CHECK(numbers <= wire::kMaxSeriesNumbers);
  const wire::Bytes once = wire::encode(*sample);
  const auto again = wire::decode_series(once);
  CHECK(again && wire::encode(*again) == once);  // As bytes: unknown numbers are not equal.
  return 0;
}
