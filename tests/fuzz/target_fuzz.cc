// Target files and mappings of anybody.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "predict/target/target.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto mapping = predict::parse_mapping(text, "fuzz");
  CHECK(mapping || mapping.error().message.starts_with("fuzz:"));
  const auto entries = parse_config(text, "fuzz");
  if (!entries) return 0;
  const auto target = predict::read_target(*entries, "fuzz");
  if (!target) {
    CHECK(target.error().code == Code::kInvalidArgument);
    CHECK(target.error().message.starts_with("fuzz:"));
    return 0;
  }
  CHECK(target->flops_per_ns > 0);
  CHECK(target->cores > 0);
  predict::FabricCosts fabric(target->network, target->fabric, target->memory);
  CHECK(fabric.transfer(size) <= predict::kMaxTicks);
  const auto times = predict::times_of(target->storage);
  const predict::StorageCosts storage(target->storage,
                                      predict::LogGpsCosts(target->network, times));
  CHECK(storage.disk_read < predict::kMaxTicks);
  CHECK(target->storage.nodes == 0 || target->storage.stripe_bytes > 0);
  predict::LogGpsCosts costs(target->network);
  CHECK(costs.nic(size) <= predict::kMaxTicks);
  return 0;
}
