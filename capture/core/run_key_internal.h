#pragma once

// The run's key as this library keeps it; run_key.h says why.

#include "capture/core/run_key.h"
#include "capture/core/system_internal.h"

namespace xylem::capture {

/// Takes the run's key out of the environment, its bytes overwritten, so that neither children nor
/// /proc show it, and keeps it. May be called again: the last key of kKeyDigits digits counts.
/// Waits for another thread that is just here.
void take_key() noexcept;

/// A copy of it, overwritten when it is no longer needed.
struct KeyCopy {
  char digits[kKeyDigits + 1];
  ~KeyCopy() { wipe(digits, sizeof digits); }
};

/// With a zero behind it. False when none is kept: in a child of fork(), too.
bool copy_key(KeyCopy& copy) noexcept;

}  // namespace xylem::capture
