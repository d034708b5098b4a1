// Shapes, policies and MRNet-like one-liners as users type them: what can be read prints as a text
// that reads back the same.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "placement/place.h"
#include "tree/shape.h"
#include "tree/skeleton.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto policy = placement::parse_policy(text)) {
    const auto again = placement::parse_policy(placement::to_text(*policy));
    CHECK(again && *again == *policy);
  } else {
    CHECK(policy.error().code == Code::kInvalidArgument && !policy.error().message.empty());
  }
  const auto shape = tree::parse_shape(text);
  if (!shape) {
    CHECK(shape.error().code == Code::kInvalidArgument || shape.error().code == Code::kNotFound);
    CHECK(!shape.error().message.empty());
    return 0;
  }
  const auto again = tree::parse_shape(tree::to_text(*shape));
  CHECK(again && *again == *shape);
  return 0;
}
