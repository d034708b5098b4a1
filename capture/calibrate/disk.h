#pragma once

// Measures a disk: how long reads and writes take that really reach it.

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace xylem::calibrate {

enum class DiskAccess : std::uint8_t { kRead, kWrite };

/// Called for each access: its kind, its bytes, and how long it took.
using DiskSample = std::function<void(DiskAccess access, std::uint64_t bytes, Nanos took)>;

/// Bytes of a short access, whose time is the latency, and of a long one, which gives the
/// bandwidth.
constexpr std::uint64_t kShortAccess = 4096;
constexpr std::uint64_t kLongAccess = 1 << 20;
/// The size of the file.
constexpr std::uint64_t kDiskFile = 32 << 20;

/// Makes a file of kDiskFile bytes in `folder` and measures `repetitions` accesses of each kind and
/// length, at most until `deadline` (monotonic). A write ends when fdatasync() has returned. The
/// file has no name from the start, so nothing remains of it, however the process ends.
///
/// Returns whether the kernel's cache was passed by (O_DIRECT). If the file system refuses this,
/// pages are dropped from the cache before each read, which the kernel may ignore.
///
/// Fails with the reason of the system and the name of the folder if the file cannot be made,
/// written or read.
Result<bool> measure_disk(const std::string& folder, unsigned repetitions, Nanos deadline,
                          const DiskSample& sample);

}  // namespace xylem::calibrate
