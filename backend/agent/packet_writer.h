#pragma once

// All packets of the Collector go through this class into the journal.

#include <cstdint>
#include <vector>

#include "backend/leaf/journal.h"
#include "base/clock.h"
#include "base/ids.h"
#include "wire/packet.h"

namespace xylem::backend {

/// Writes packets into the journal and lists them for sending. When the journal is full, writing
/// pauses: the caller reads no more records until may_write() returns true. Not thread-safe.
/// Borrows the journal.
class PacketWriter {
 public:
  PacketWriter(Journal& journal, Nanos full_pause) : journal_(journal), full_pause_(full_pause) {}

  /// Returns false when the journal is full; then the pause begins. If the journal already contains
  /// a packet with the same identity, returns true and does not list the packet. If the journal
  /// gives up older packets to make room, this is logged once.
  bool write(const Draft& draft, Nanos now);

  /// True if the packet waits in the journal for its acknowledgement.
  bool is_live(const PacketKey& key) const { return journal_.contains(key); }
  /// Size of the journal. Live packets can use almost all of it.
  std::size_t capacity() const noexcept { return journal_.capacity(); }
  bool may_write(Nanos now) const noexcept { return now >= retry_at_; }
  /// The end of the pause.
  Nanos retry_at() const noexcept { return retry_at_; }
  /// Ends the pause, because there may be room again.
  void resume() noexcept { retry_at_ = 0; }

  /// The next free wave number of the stream.
  std::uint64_t next_wave(StreamId stream) const { return journal_.next_wave(stream); }
  /// Packets written since the last call, in order.
  std::vector<PacketKey> take_written();

 private:
  Journal& journal_;
  Nanos full_pause_;
  Nanos retry_at_ = 0;
  bool told_full_ = false;
  std::vector<PacketKey> written_;
};

}  // namespace xylem::backend
