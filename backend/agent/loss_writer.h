#pragma once

// Records of rings that the agent could not map, for want of address space or memory: they are
// lost, and the account says so. The journal has them as a window and a chunk that were given up
// (wire/tombstone.h), so that the death of a worker loses nothing twice.
//
//   ring 0, mapped       3 calls, read       -> rows of windows: 3 calls
//   ring 1, not mapped   5 calls, records    -> tombstone of a window: 5 calls
//                        1 call in a handler -> counted without a record, as ever: 1 call

#include <string>

#include "backend/agent/drain.h"
#include "backend/agent/packet_writer.h"
#include "backend/agent/record_reader.h"
#include "backend/agent/watched_process.h"
#include "backend/agent/window_writer.h"
#include "base/clock.h"

namespace xylem::backend {

/// Gives up the unreadable records of ended processes. While a process lives, they wait in its
/// ring, since other processes that end may free address space; once the ring is full, new ones
/// are lost. One thread. Borrows its arguments.
class LossWriter {
 public:
  /// `patience`: how long to retry mapping after the end of a process.
  LossWriter(PacketWriter& packets, const RecordReader& records, WindowWriter& windows,
             WatchedProcesses& processes, Nanos patience)
      : packets_(packets),
        records_(records),
        windows_(windows),
        processes_(processes),
        patience_(patience) {}

  /// After windows and chunks have read what is readable. False: the journal is full.
  bool drain(const Drain& drain);

  /// When the process's unreadable records are given up; 0: it has none.
  Nanos next_due(const WatchedProcess& process) const;

 private:
  bool give_up_calls(WatchedProcess& process, const Drain& drain);
  bool give_up_events(WatchedProcess& process, const Drain& drain);

  PacketWriter& packets_;
  const RecordReader& records_;
  WindowWriter& windows_;
  WatchedProcesses& processes_;
  Nanos patience_;
};

}  // namespace xylem::backend
