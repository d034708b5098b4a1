#pragma once

// Payload of the chunk stream: up to some thousand events of one process, columns, compressed.
//
// Encoded once, at the leaf; relayed unopened; stored as a blob; opened by a query.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/packet.h"

namespace xylem::wire {

constexpr std::size_t kMaxChunkEvents = 8192;
constexpr std::uint32_t kChunkVersion = 1;

/// No chunk is longer, whatever its events hold; usual ones have 2 to 4 bytes an event.
constexpr std::size_t kMaxChunkBytes = 1024 + 72 * kMaxChunkEvents;

/// Values of Event fields that mean "none" or "not known".
constexpr std::int32_t kNoPeer = -1;
constexpr std::int32_t kNoTag = -2147483647 - 1;
constexpr std::uint32_t kNoComm = 0xffffffff;

/// An event as it is stored: capture::Record in the run's time. Kinds are those of RecordKind.
struct Event {
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  std::uint64_t request = 0;
  std::uint64_t bytes = 0;
  std::uint32_t comm = kNoComm;
  std::int32_t peer = kNoPeer;
  std::int32_t tag = kNoTag;
  std::int32_t result = 0;
  std::uint32_t calls = 1;
  std::uint32_t thread = 0;
  FunctionId function{};
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;

  bool operator==(const Event&) const = default;
};

/// Name of a kind as the table `event` shows it: "mpi", "completion"; "other" for unknown numbers.
const char* event_kind_name(std::uint8_t kind);
constexpr std::uint8_t kKindMpi = 0;
constexpr std::uint8_t kKindCompletion = 1;

/// Flags of an event, those of capture::Record.
constexpr std::uint8_t kEventEstimated = 1;  ///< The time of one call stands for `calls`.
constexpr std::uint8_t kEventSend = 2;       ///< Payload leaves for `peer`.
constexpr std::uint8_t kEventReceive = 4;    ///< Payload of `peer` has arrived.

/// What can be known of a chunk without opening its columns.
struct ChunkSummary {
  std::uint32_t events = 0;
  std::uint64_t calls = 0;  ///< Sum over events.
  Nanos begin_ns = 0;       ///< Smallest begin.
  Nanos end_ns = 0;         ///< Largest end.
  bool operator==(const ChunkSummary&) const = default;
};

/// Turns events into a chunk. Keeps its buffers between calls (about 0.6 MB): one encoder a leaf,
/// for all its processes; a chunk depends on nothing but its events. Not thread-safe.
class ChunkEncoder {
 public:
  ChunkEncoder();
  ~ChunkEncoder();
  ChunkEncoder(ChunkEncoder&&) noexcept;
  ChunkEncoder& operator=(ChunkEncoder&&) noexcept;

  /// Events in the order of their records. 1 to kMaxChunkEvents of them, else the program stops.
  Bytes encode(std::span<const Event> events);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The summary of a chunk, without unpacking it, in about 0.2 ns an event: the checksum over all of
/// it is compared, so damage is found here already. Fails with kCorrupt, also for chunks of another
/// version.
Result<ChunkSummary> read_chunk_summary(std::span<const std::byte> chunk);

/// Opens chunks, one after another; keeps its buffers (about 2 MB after a full chunk), which is
/// half the time of a query over many. Not thread-safe.
class ChunkDecoder {
 public:
  ChunkDecoder();
  ~ChunkDecoder();
  ChunkDecoder(ChunkDecoder&&) noexcept;
  ChunkDecoder& operator=(ChunkDecoder&&) noexcept;

  /// As decode_chunk; the events stand in the decoder until its next call or its end.
  Result<std::span<const Event>> decode(std::span<const std::byte> chunk);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// All events of a chunk, in order, equal to those encoded. Fails with kCorrupt on any other bytes;
/// never allocates more than kMaxChunkEvents events need.
Result<std::vector<Event>> decode_chunk(std::span<const std::byte> chunk);

}  // namespace xylem::wire
