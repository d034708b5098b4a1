#pragma once

// A service whose samples come from a program. The program runs once per interval, and its standard
// output is the sample.

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>

#include "backend/agent/program_groups.h"
#include "backend/host/metric_text.h"
#include "backend/host/series_source.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// Only one run of the program exists at a time. Each run has a separate process group. When a run
/// is killed, the whole group is killed. A run gives a sample if it ends with code 0 and has
/// printed at least one number; metric_text.h parses the output. A run fails if the program cannot
/// be started, ends with an error, or exceeds the timeout. A run also fails if the program prints
/// no number, or more than kMaxOutput bytes. If several runs fail one after the other, the first
/// failure is logged. A later failure is logged only if it is of another kind. After a success, the
/// next failure is logged again. After a failure there is a pause before the next run. The pause
/// begins with the interval. It doubles with each further failure, up to kLongestPause or to a
/// longer interval. A killed program may wait for a device and not end. This is logged
/// kLongestDeath after the kill. The next run starts only after the killed program has ended.
///
/// The program has the agent's environment and no standard input. It gets SIGKILL when the agent's
/// worker dies. When the program ends, the rest of its process group is killed. If the worker was
/// killed, the guard kills the group. A call blocks at most for one fork. Only stop() and the
/// destructor may block longer, up to 20 ms. Not thread-safe.
class ExecSeries final : public SeriesSource {
 public:
  static constexpr std::size_t kMaxOutput = 256u << 10;
  static constexpr Nanos kLongestPause = 60 * kSecond;
  static constexpr Nanos kLongestDeath = 5 * kSecond;

  /// While the program runs, its process group is in `groups` at `place`. `groups` is borrowed and
  /// may be null.
  explicit ExecSeries(wire::ServiceSpec spec, ProgramGroups* groups = nullptr,
                      std::size_t place = 0);
  ~ExecSeries() override;
  ExecSeries(const ExecSeries&) = delete;
  ExecSeries& operator=(const ExecSeries&) = delete;

  void begin(overlay::Network& network, Nanos now) override;
  std::optional<Reading> take(overlay::Network& network, Nanos now) override;
  const wire::SeriesLayout& layout() const override { return layout_; }
  bool on_readable(overlay::Network& network, int fd, Nanos now) override;
  /// The time at which the program exceeds its timeout and must be killed. After the kill: the time
  /// at which to log that the program has not ended. 0: there is nothing to do.
  Nanos next_due() const override { return child_ > 0 && !told_stuck_ ? look_at_ : 0; }
  void stop(overlay::Network& network) override;

 private:
  bool start(overlay::Network& network, Nanos now);
  void drain(overlay::Network& network, Nanos now);
  void unwatch_output(overlay::Network& network);
  bool reap(int& status);
  void end_child();
  void kill_group(const std::string& why, Nanos now);
  void look(Nanos now);
  void collect(overlay::Network& network, Nanos now);
  void succeed(const MetricText& text, Nanos now);
  void fail(const std::string& why, Nanos now);

  wire::ServiceSpec spec_;
  ProgramGroups* groups_;
  std::size_t place_in_groups_;
  wire::SeriesLayout layout_;
  std::map<std::string, std::size_t, std::less<>> place_;  // Position of each metric in the layout.
  // Previous value of each counter, at the counter's position in the layout; NaN: none.
  std::vector<double> before_;

  pid_t child_ = 0;
  UniqueFd pidfd_, output_;
  std::string text_;
  std::string killed_why_;
  bool killed_ = false;
  bool told_stuck_ = false;
  Nanos started_ = 0, look_at_ = 0;

  Nanos last_ns_ = 0;
  Nanos not_before_ = 0;
  Nanos pause_ = 0;
  // Kind of the failure that was logged last. After a success: empty, or kPassesOver if some lines
  // were skipped.
  std::string told_;
  bool told_dropped_ = false;
  std::optional<Reading> reading_;
};

}  // namespace xylem::backend
