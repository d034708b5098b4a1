// Payloads of the window stream from a peer that has the key and lies; and histograms, which are
// read from a store's file too.

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "wire/profile.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = std::as_bytes(std::span(bytes, size));
  if (const auto window = wire::decode_profile_window(input)) {
    const auto again = wire::decode_profile_window(wire::encode(*window));
    CHECK(again && *again == *window);
  } else {
    CHECK(window.error().code == Code::kCorrupt && !window.error().message.empty());
  }
  if (const auto histogram = wire::LogHistogram::from_bytes(input)) {
    const wire::Bytes again = histogram->to_bytes();
    CHECK(std::equal(again.begin(), again.end(), input.begin(), input.end()));  // One form only.
    CHECK(histogram->quantile_bound(0.5) <= histogram->quantile_bound(0.99));
  }
  return 0;
}
