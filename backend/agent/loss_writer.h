#pragma once

// A LossWriter handles the records of rings that the agent could not map, because address space or
// memory was missing. These records are lost, and the account says so. The journal gets tombstones
// for these records: one of a window and, if the run has chunks, one of a chunk (wire/tombstone.h).
// So the loss is counted only once, even if a worker dies.
//
//   ring 0, mapped       3 calls, read       -> rows of windows: 3 calls
//   ring 1, not mapped   5 calls, records    -> tombstone of a window: 5 calls
//                        1 call in a handler -> counted without a record, as always: 1 call

#include <string>

#include "backend/agent/drain.h"
#include "backend/agent/packet_writer.h"
#include "backend/agent/record_reader.h"
#include "backend/agent/watched_process.h"
#include "backend/agent/window_writer.h"
#include "base/clock.h"

namespace xylem::backend {

/// Gives up the unreadable records of ended processes; in a flush, the unreadable records of all
/// processes. While a process lives, its unreadable records wait in the ring, because another
/// process may end and free address space. While the ring is full, new records are lost. Not
/// thread-safe. Borrows its arguments.
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

  /// Call it in each drain after windows and chunks have read all readable records. Returns false
  /// when the journal is full.
  bool drain(const Drain& drain);

  /// The time at which the process's unreadable records are given up; 0: it has none.
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
