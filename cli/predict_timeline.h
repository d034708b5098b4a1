#pragma once

// What `xylem predict` does while a replay runs: it writes the timelines to a file, shows progress
// on a terminal, and notices that the user wants to stop.

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/new_file.h"
#include "base/result.h"
#include "predict/replay/timeline.h"
#include "predict/trace/program.h"

namespace xylem {

/// Writes timelines as comma-separated values, with the names of columns in the first line:
///
///   rank,begin_ns,end_ns,state,what,peer,bytes
///   0,0,1500,run,send,1,8192
///
/// Times are exact decimal numbers. `state` is run, io or ready, `what` is compute, send,
/// receive or file. Peer and bytes of computing are empty, and so is the peer of a file. Rows of a
/// rank are in the order of time, rows of different ranks are mixed.
class TimelineFile final : public predict::TimelineSink {
 public:
  /// Fails as NewFile::create() does. An old file is replaced.
  static Result<TimelineFile> create(const std::string& path);

  void begin(std::uint64_t ticks_per_ns) override { ticks_per_ns_ = ticks_per_ns; }
  void add(const predict::TimelineRow& row) override;
  /// Gives the file its name. Without this call, no file appears. Fails if any of its rows could
  /// not be written.
  Result<void> finish();

 private:
  explicit TimelineFile(NewFile file);
  void add_number(std::uint64_t number);
  void add_time(predict::Ticks time);
  void flush();

  NewFile file_;
  Result<void> written_;
  std::string text_;
  std::uint64_t ticks_per_ns_ = 1;
};

/// Keeps SIGINT, SIGTERM and SIGHUP from ending the process, so that no incomplete file stays. When
/// it is destroyed, a signal that nobody has taken has its usual effect.
class HeldSignals {
 public:
  HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  ~HeldSignals();

  /// The number of a signal that has come, or nothing. Does not wait.
  std::optional<int> take();

 private:
  sigset_t held_{}, before_{};
};

/// Shows how far a replay is, in the last line of a terminal, at most five times a second, and not
/// in the first half second. The destructor removes the line.
class Progress {
 public:
  /// `err` is the terminal. `events`: those of one replay.
  Progress(std::ostream& err, std::uint64_t events);
  Progress(const Progress&) = delete;
  ~Progress();

  /// A replay has reached this number of events. If the number falls, a new replay has begun.
  void show(std::uint64_t events);

 private:
  std::ostream& err_;
  const std::uint64_t total_;
  std::uint64_t events_ = 0, replay_ = 1;
  Nanos next_;
  bool is_shown_ = false;
};

/// The events of a replay: operations and messages.
std::uint64_t count_events(const predict::Program& program);

}  // namespace xylem
