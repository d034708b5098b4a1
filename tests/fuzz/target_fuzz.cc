// Target files of anybody.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "predict/target/target.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto entries =
      parse_config(std::string_view(reinterpret_cast<const char*>(bytes), size), "fuzz");
  if (!entries) return 0;
  const auto target = predict::read_target(*entries, "fuzz");
  if (!target) {
    CHECK(target.error().code == Code::kInvalidArgument);
    CHECK(target.error().message.starts_with("fuzz:"));
    return 0;
  }
  CHECK(target->flops_per_ns > 0);
  predict::LogGpsCosts costs(target->network);
  CHECK(costs.nic(size) <= predict::kMaxTicks);
  return 0;
}
