#pragma once

// Journals chunks (wire/chunk.h). A chunk contains single records of one process, not sums. Only a
// run with `--detail trace` has chunks.

#include <cstddef>
#include <vector>

#include "backend/agent/drain.h"
#include "backend/agent/packet_writer.h"
#include "backend/agent/record_reader.h"
#include "backend/agent/registration_writer.h"
#include "backend/agent/watched_process.h"
#include "backend/leaf/thread_order.h"
#include "base/clock.h"
#include "wire/chunk.h"
#include "wire/packet.h"

namespace xylem::backend {

/// Makes a chunk when kMaxChunkEvents records of a process wait, or when the oldest waiting record
/// is too old. Also makes a chunk when a ring of the process fills, when the process has ended, or
/// in a flush. Not thread-safe. Borrows its arguments.
class ChunkWriter {
 public:
  /// `chunk_age`: how long a record waits for its chunk, from the drain that first found it.
  /// The call sites of a chunk are announced before it.
  ChunkWriter(PacketWriter& packets, const RecordReader& records, RegistrationWriter& registrations,
              WatchedProcesses& processes, Nanos chunk_age);

  /// Journals the chunks that are due, within the drain's budget. Does nothing if the run has no
  /// chunks. Returns false when the journal is full.
  bool drain(Drain& drain);

  /// When the process's records must go into a chunk; 0: no record waits.
  Nanos next_due(const WatchedProcess& process) const;

  /// The id of the process's next chunk; the caller sets `wave_end`. The events of a process are
  /// numbered over all its rings. The wave number of a chunk is the number of its first event.
  static wire::PacketId next_id(const WatchedProcess& process, LeafId leaf);

 private:
  bool write_chunk(WatchedProcess& process, Drain& drain);
  void add_ring(WatchedProcess& process, std::uint32_t ring, Draft& draft, Drain& drain);

  struct RingOrder {
    std::uint32_t ring = 0;
    ThreadOrder order;
  };

  PacketWriter& packets_;
  const RecordReader& records_;
  RegistrationWriter& registrations_;
  WatchedProcesses& processes_;
  Nanos chunk_age_;
  wire::ChunkEncoder encoder_;
  std::vector<capture::Record> batch_;
  std::vector<wire::Event> events_;  // Events of the chunk that is being made.
  std::vector<RingOrder> orders_;    // Order of each ring after these events.
};

}  // namespace xylem::backend
