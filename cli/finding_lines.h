#pragma once

// The lines of `xylem run` about the run itself: alerts while it runs, findings at the end.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "storage/alert/alert.h"

namespace xylem {

/// Decides which new alerts are printed while the job runs: one line each, at most kMaxLines. After
/// kAtOnce lines at once, there is at most one line each kPause. The next line that is printed says
/// how many alerts were left out. Not thread-safe.
class AlertLines {
 public:
  static constexpr std::uint64_t kMaxLines = 20;
  static constexpr Nanos kPause = kSecond;
  static constexpr int kAtOnce = 5;

  /// Returns the line for an alert, for example "alert: rank 3 is in MPI 5 % of its time". Returns
  /// "" if the alert is not printed.
  std::string line(const storage::Alert& alert, Nanos now);

 private:
  std::uint64_t printed_ = 0, left_out_ = 0;
  Nanos free_at_ns_ = 0;  ///< When the lines printed so far no longer count.
};

/// Returns up to three lines with the most important findings of the run in the file `store`. Takes
/// 2 s at most. Waits are named by the wait states if these can be computed within 1.5 s, about 7
/// million events, else by the estimate. If the file cannot be read, there are no lines.
std::vector<std::string> finding_lines(const std::string& store);

/// Prints "xylem: ", the text and a line end to standard error in one write, so that it is not
/// mixed with output of the job. Unprintable characters are replaced.
void print_line(const std::string& text);

}  // namespace xylem
