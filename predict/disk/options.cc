#include "predict/disk/options.h"

#include <algorithm>

#include "base/saturating.h"

namespace xylem::predict {

std::array<Femtoseconds, 5> times_of(const StorageOptions& options) {
  return {options.copy_per_byte, options.request, options.disk_read, options.disk_write,
          options.disk_per_byte};
}

StorageCosts::StorageCosts(const StorageOptions& options, const LogGpsCosts& ends)
    : copy_per_byte(ends.ticks(options.copy_per_byte)),
      request(ends.ticks(options.request)),
      disk_read(ends.ticks(options.disk_read)),
      disk_write(ends.ticks(options.disk_write)),
      disk_per_byte(ends.ticks(options.disk_per_byte)) {}

Ticks cost_of(std::uint64_t bytes, Ticks per_byte) {
  return std::min(saturating_multiply(bytes, per_byte), kMaxTicks);
}

}  // namespace xylem::predict
