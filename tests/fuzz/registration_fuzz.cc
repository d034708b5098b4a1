// Payloads of the registration stream, and tombstones, from a peer that has the key and lies.

#include <cstdint>

#include "base/check.h"
#include "wire/registration.h"
#include "wire/tombstone.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = std::as_bytes(std::span(bytes, size));
  if (const auto registration = wire::decode_registration(input)) {
    const auto again = wire::decode_registration(wire::encode(*registration));
    CHECK(again && *again == *registration);
  } else {
    CHECK(registration.error().code == Code::kCorrupt && !registration.error().message.empty());
  }
  if (const auto tombstone = wire::decode_tombstone(input)) {
    const auto again = wire::decode_tombstone(wire::encode(*tombstone));
    CHECK(again && *again == *tombstone);
  }
  return 0;
}
