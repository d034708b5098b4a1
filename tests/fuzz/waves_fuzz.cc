// Payloads of tool streams and multicasts from a peer that has the key and lies.

#include <cstdint>

#include "base/check.h"
#include "wire/waves.h"

using namespace xylem;

namespace {

// As many waves as the golden payload has, and none and one.
constexpr std::size_t kExpected[] = {0, 1, 3};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = std::as_bytes(std::span(bytes, size));
  for (const std::size_t expected : kExpected) {
    const auto waves = wire::decode_waves(input, expected);
    if (!waves) {
      CHECK(waves.error().code == Code::kCorrupt && !waves.error().message.empty());
      continue;
    }
    const wire::Bytes encoded = wire::encode_waves(*waves);
    const auto again = wire::decode_waves(encoded, expected);
    CHECK(again &&
          wire::encode_waves(*again) == encoded);  // By bytes: a NaN is no equal of itself.
  }
  if (const auto fields = wire::decode_fields(input)) {
    const wire::Bytes encoded = wire::encode_fields(*fields);
    CHECK(encoded.size() == 8 + fields->bytes());
    const auto again = wire::decode_fields(encoded);
    CHECK(again && wire::encode_fields(*again) == encoded);
  }
  return 0;
}
