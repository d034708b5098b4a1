#pragma once

// A service that is a program. It runs once an interval, and its standard output is the sample.

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>

#include "backend/agent/program_groups.h"
#include "backend/host/metric_text.h"
#include "backend/host/series_source.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// One run at a time, each in its own process group, which is killed with it. A run gives a sample
/// if it ends with code 0 and has printed at least one number; metric_text.h parses it. A run fails
/// if it cannot be started, ends with an error, exceeds the timeout, or prints more than kMaxOutput
/// or no number. The failure is logged once, until a run succeeds again, and the pause before the
/// next run doubles with each failure, up to kLongestPause. A killed program that has not ended
/// after kLongestDeath, because it waits for a device, is logged, and no other run starts until it
/// has ended.
///
/// The program gets no standard input, the agent's environment, and SIGKILL when the agent's worker
/// dies. Its own children are killed when it ends, or by the guard when the worker was killed.
/// Blocks only for a fork, and for at most 20 ms when it is stopped. One thread.
class ExecSeries final : public SeriesSource {
 public:
  static constexpr std::size_t kMaxOutput = 256u << 10;
  static constexpr Nanos kLongestPause = 60 * kSecond;
  static constexpr Nanos kLongestDeath = 5 * kSecond;

  /// While the program runs, it is entered in `groups` at `place`. `groups` is borrowed and may be
  /// null.
  explicit ExecSeries(wire::ServiceSpec spec, ProgramGroups* groups = nullptr,
                      std::size_t place = 0);
  ~ExecSeries() override;
  ExecSeries(const ExecSeries&) = delete;
  ExecSeries& operator=(const ExecSeries&) = delete;

  void begin(overlay::Network& network, Nanos now) override;
  std::optional<Reading> take(overlay::Network& network, Nanos now) override;
  const wire::SeriesLayout& layout() const override { return layout_; }
  bool on_readable(overlay::Network& network, int fd, Nanos now) override;
  /// When the running program must be killed, or logged.
  Nanos next_due() const override { return child_ > 0 && !told_stuck_ ? look_at_ : 0; }
  void stop(overlay::Network& network) override;

 private:
  bool start(overlay::Network& network, Nanos now);
  void drain(overlay::Network& network);
  void unwatch_output(overlay::Network& network);
  bool reap(int& status);
  void end_child();
  void kill_group(const std::string& why);
  void look(Nanos now);
  void collect(overlay::Network& network, Nanos now);
  void succeed(const MetricText& text, Nanos now);
  void fail(const std::string& why, Nanos now);

  wire::ServiceSpec spec_;
  ProgramGroups* groups_;
  std::size_t place_in_groups_;
  wire::SeriesLayout layout_;
  std::map<std::string, std::size_t, std::less<>> place_;  // Of a metric in the layout.
  std::vector<double> before_;                             // Counters by place; NaN: none.

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
  std::string told_;  // The trouble that was said last; empty: none.
  bool told_dropped_ = false;
  std::optional<Reading> reading_;
};

}  // namespace xylem::backend
