#pragma once

// Journals chunks (wire/chunk.h): the single records of a process, if the run wants them.

#include <cstddef>
#include <vector>

#include "backend/agent/drain.h"
#include "backend/agent/packet_writer.h"
#include "backend/agent/record_reader.h"
#include "backend/agent/watched_process.h"
#include "base/clock.h"
#include "wire/chunk.h"
#include "wire/packet.h"

namespace xylem::backend {

/// Makes a chunk of a process when it has enough records, when they are old enough, when a ring
/// fills, and when the process has ended. One thread. Borrows its arguments.
class ChunkWriter {
 public:
  /// `chunk_age`: maximum age of a record before it goes into a chunk.
  ChunkWriter(PacketWriter& packets, const RecordReader& records, WatchedProcesses& processes,
              Nanos chunk_age);

  /// Journals all chunks that are due; none if the run wants no chunks. False: the journal is full.
  bool drain(Drain& drain);

  /// When the process's records must go into a chunk; 0: none waits.
  Nanos next_due(const WatchedProcess& process) const;

  /// The id of the process's next chunk; the caller sets wave_end. The wave is the number of the
  /// first event among all events of the process.
  static wire::PacketId next_id(const WatchedProcess& process, LeafId leaf);

 private:
  bool write_chunk(WatchedProcess& process, Drain& drain);
  void add_ring(const WatchedProcess& process, std::uint32_t ring, Draft& draft, Drain& drain);

  PacketWriter& packets_;
  const RecordReader& records_;
  WatchedProcesses& processes_;
  Nanos chunk_age_;
  wire::ChunkEncoder encoder_;
  std::vector<capture::Record> batch_;
  std::vector<wire::Event> events_;  // Of the chunk that is being made.
};

}  // namespace xylem::backend
