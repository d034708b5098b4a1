#pragma once

// The capture library's copy of the run's key; run_key.h says why it is kept.

#include "capture/core/run_key.h"
#include "capture/core/system_internal.h"

namespace xylem::capture {

/// Removes the run's key from the environment and keeps it. The key's bytes in the environment are
/// overwritten. So neither children nor /proc show the key. May be called again; the last key of
/// kKeyDigits digits counts. If another thread is in this function, waits for it for a limited
/// time. If there is no memory, the key stays in the environment.
void take_key() noexcept;

/// A copy of the key. The destructor overwrites it.
struct KeyCopy {
  char digits[kKeyDigits + 1];
  ~KeyCopy() { wipe(digits, sizeof digits); }
};

/// Copies the key, with a terminating zero. Returns false if there is no key, for example in a
/// child of fork().
bool copy_key(KeyCopy& copy) noexcept;

}  // namespace xylem::capture
