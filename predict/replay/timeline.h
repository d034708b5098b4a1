#pragma once

// The target timeline of a rank: in each moment it runs, waits for a message or a file, or waits
// for a core.
//
//   T_exec = T_run + T_IO + T_ready                                (SimHPC, Sec. 3.1, equation 1)
//
// - T_run: a processor of the rank is busy with it. It computes or reduces, or it spends o and the
//   time of the bytes on a message: (s-1) O at the sender, (s-1) max(O, G) at the receiver.
// - T_ready: the rank could run, but waits for a core of its node (node/scheduler.h).
// - T_IO: all other time until its end. It is blocked: in a receive whose message has not arrived,
//   in a rendezvous, in an access to a file, or because its NIC is busy. A delay during which the
//   rank computes is no part of it, so a message that is hidden behind computing costs no T_IO.
//
// A rank with several CPU numbers runs if one of them is busy, and its T_IO is the time in which
// none is. So the sum holds for every rank, to the tick.
//
// Results are whole nanoseconds. With round() to the nearest one, T_run is round(run), T_ready is
// round(run + ready) - round(run), and T_IO is the rest of the rounded end. So they add up exactly,
// and each differs from its exact value by less than 1 ns.

#include <cstdint>

#include "predict/network/loggps.h"

namespace xylem::predict {

enum class TimelineState : std::uint8_t { kRun, kIo, kReady };

enum class Activity : std::uint8_t { kCompute, kSend, kReceive, kFile };

/// What a rank does, or what it waits for.
struct Doing {
  Activity what = Activity::kCompute;
  std::uint32_t peer = 0;   ///< Of a message.
  std::uint64_t bytes = 0;  ///< Of a message, or of an access to a file.

  bool operator==(const Doing&) const = default;
};

/// A part of a rank's timeline. Never empty.
struct TimelineRow {
  std::uint32_t rank = 0;
  TimelineState state = TimelineState::kRun;
  Ticks begin = 0, end = 0;
  /// Of kRun: what the rank does. Of kReady: what it will do when it has a core. Of kIo: what ended
  /// the waiting, that is the message that came, the send that was not possible or not finished, or
  /// the access to a file.
  Doing doing;

  bool operator==(const TimelineRow&) const = default;
};

/// Receives the timelines of all ranks. The rows of a rank come in the order of time, follow each
/// other without gap or overlap from 0 to the end of the rank, and add up to its T_run, T_IO and
/// T_ready. Rows of different ranks are mixed. With several CPU numbers, a row has only the time
/// that no earlier row of the rank has.
class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  /// Called once, before the first row.
  virtual void begin(std::uint64_t ticks_per_ns) = 0;
  virtual void add(const TimelineRow& row) = 0;
};

}  // namespace xylem::predict
