#pragma once

// The flags that `xylem run` and `xylem serve` share.

#include <functional>

#include "cli/run_options.h"
#include "cli/settings.h"

namespace xylem {

/// The settings of a run as flags, and `--print-config`. This object must not be moved or destroyed
/// while `app` parses. Not thread-safe.
class RunFlags {
 public:
  explicit RunFlags(CLI::App& app);

  /// Call it after parsing. Checks the settings of all layers and returns the result of `act`, or
  /// prints the settings with `--print-config`. If a setting is wrong, prints a sentence and
  /// returns 2.
  int act(const std::function<int(const RunOptions&)>& act) const;

 private:
  SettingFlags flags_;
  bool print_ = false;
};

}  // namespace xylem
