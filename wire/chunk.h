#pragma once

// Payload of the chunk stream: up to kMaxChunkEvents events of one process, in compressed columns.
//
// The leaf encodes a chunk once. Relaying nodes do not open it. The store keeps it as a blob, and
// queries decode it.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/packet.h"

namespace xylem::wire {

constexpr std::size_t kMaxChunkEvents = 8192;
/// The version that is written. Earlier versions can be read. Version 1 does not have
/// Event::number. Until version 2, Event::request is an MPI library's handle. There is no version
/// 3, so that a damaged bit in the version is always found.
constexpr std::uint32_t kChunkVersion = 4;

/// Maximum size of a chunk. In typical chunks, an event takes 2 to 4 bytes.
constexpr std::size_t kMaxChunkBytes = 1024 + 96 * kMaxChunkEvents;

/// Values of `Event` fields that mean "none" or "not known".
constexpr std::int32_t kNoPeer = -1;
constexpr std::int32_t kNoTag = -2147483647 - 1;
constexpr CommId kNoComm{0xffffffff};
constexpr std::uint16_t kNoCpu = 0xffff;
constexpr std::uint8_t kNoOperation = 0xff;

constexpr CommId kCommWorld{0};
/// MPI_COMM_SELF: the same id on all ranks, but each one is alone.
constexpr CommId kCommSelf{1};

/// A stored event. It has the fields of a capture::Record, but its times count from the run's
/// start. `kind` is kKindMpi, kKindCompletion or kKindRegion.
struct Event {
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  std::uint64_t request = 0;  ///< See capture::Record; 0: none, or not known.
  std::uint64_t bytes = 0;
  /// See capture::Record; 0 after a failure. A chunk stores the lower 48 bits.
  std::uint64_t room = 0;
  CallSiteId site{};  ///< Where the program made the call; 0: not known.
  CommId comm = kNoComm;
  std::int32_t peer = kNoPeer;
  std::int32_t tag = kNoTag;
  std::int32_t result = 0;
  std::uint32_t calls = 1;
  ThreadIndex thread{};
  std::uint32_t number = 0;  ///< See kEventNumbered; 0 without it.
  FunctionId function{};
  std::uint16_t flags = 0;
  std::uint16_t cpu = kNoCpu;  ///< Processor on which the call has ended.
  std::uint8_t kind = 0;
  std::uint8_t operation = kNoOperation;  ///< A capture::ReduceOperation.

  bool operator==(const Event&) const = default;
};

constexpr std::uint8_t kKindMpi = 0;         ///< A call.
constexpr std::uint8_t kKindCompletion = 1;  ///< A part of a call; see capture::kRecordPart.
/// The begin (kEventPosts) or the end (kEventCompletes) of a region that the program has named: a
/// moment. `bytes` is the region, `tag` its depth; see capture::kRecordOfRegion. It is no call.
constexpr std::uint8_t kKindRegion = 2;

/// Flags of an event, the same as in capture::Record. kEventEstimated means that only one of the
/// `calls` calls was timed. Each call is assumed to have taken the same time.
constexpr std::uint16_t kEventEstimated = 1;
constexpr std::uint16_t kEventSend = 2;     ///< The process sends payload to `peer`.
constexpr std::uint16_t kEventReceive = 4;  ///< Payload from `peer` has arrived.
/// `number` is known. For a message, it is the message's number in its channel, counted from 0. A
/// channel has the messages of one sender to one receiver with one tag on one communicator, in the
/// order in which MPI matches them. So the send and the receive of a message have the same number.
/// For a collective, it is the collective's number on its communicator, counted from 0.
constexpr std::uint16_t kEventNumbered = 8;
constexpr std::uint16_t kEventPosts = 16;          ///< The operation of `request` was started.
constexpr std::uint16_t kEventCompletes = 32;      ///< The operation of `request` is complete.
constexpr std::uint16_t kEventSucceeds = 64;       ///< A test or a probe has found something,
constexpr std::uint16_t kEventFindsNothing = 128;  ///< or nothing.
constexpr std::uint16_t kEventAnySource = 256;     ///< A receive or a probe asked for any source,
constexpr std::uint16_t kEventAnyTag = 512;        ///< or for any tag.
constexpr std::uint16_t kEventInPlace = 1024;      ///< A collective with MPI_IN_PLACE.
constexpr std::uint16_t kEventCollective = 2048;   ///< A collective, which receives `room`.
/// The part of a collective that this rank exchanges with `peer`: it sends `bytes` and receives
/// `room`.
constexpr std::uint16_t kEventBlock = 4096;
constexpr std::uint16_t kEventHasBuffer =
    8192;  ///< It has posted a buffer of `room` for a message.

/// The name of an event's kind: "mpi" for a call; "completion" for a request that a call has
/// completed, and "start" for one that a call has started, if they have an event of their own;
/// "block" for a block of a collective; "region" for the begin or end of a region; "other" for
/// unknown kinds.
const char* event_kind_name(const Event& event);
/// "start" if the event starts the operation of its request, "completion" if it completes it.
/// Otherwise null.
const char* stage_name(const Event& event);
/// "sum", "max" and so on: MPI's name of the operation without MPI_, in lower case; "user" for one
/// that the program has made. Null if the call does not reduce.
const char* operation_name(const Event& event);
/// The size of the buffer that the event has posted for a message: it is a blocking receive, or the
/// start of one that does not block. Otherwise, and if it is not known, nullopt.
std::optional<std::uint64_t> posted_bytes_of(const Event& event);
/// The size that a collective, or a block of it, receives. Otherwise, and if it is not known,
/// nullopt.
std::optional<std::uint64_t> received_bytes_of(const Event& event);
/// Whether a test or a probe has found something; nullopt for other calls.
std::optional<bool> success_of(const Event& event);

/// The summary of a chunk. It can be read without decoding the columns.
struct ChunkSummary {
  std::uint32_t events = 0;
  std::uint64_t calls = 0;  ///< Sum of `calls` over all events.
  Nanos begin_ns = 0;       ///< Earliest begin of an event.
  Nanos end_ns = 0;         ///< Latest end of an event.
  bool operator==(const ChunkSummary&) const = default;
};

/// Turns events into a chunk. Keeps its buffers between calls (about 0.6 MB). So a leaf uses one
/// encoder for all processes. A chunk depends only on its events. Not thread-safe.
class ChunkEncoder {
 public:
  ChunkEncoder();
  ~ChunkEncoder();
  ChunkEncoder(ChunkEncoder&&) noexcept;
  ChunkEncoder& operator=(ChunkEncoder&&) noexcept;

  /// Takes 1 to kMaxChunkEvents events in the order of their records; any other number stops the
  /// program.
  Bytes encode(std::span<const Event> events);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads the summary of a chunk without decoding its columns. Needs about 0.2 ns per event.
/// Verifies the checksum of the whole chunk. Fails with kCorrupt if the chunk is damaged or has
/// a later version.
Result<ChunkSummary> read_chunk_summary(std::span<const std::byte> chunk);

/// Decodes chunks, one after another. It keeps its buffers between calls, which halves the time of
/// a query over many chunks. After a full chunk the buffers need about 2 MB. Not thread-safe.
class ChunkDecoder {
 public:
  ChunkDecoder();
  ~ChunkDecoder();
  ChunkDecoder(ChunkDecoder&&) noexcept;
  ChunkDecoder& operator=(ChunkDecoder&&) noexcept;

  /// Decodes and fails like decode_chunk(). The events are valid until the next call or until the
  /// decoder is destroyed.
  Result<std::span<const Event>> decode(std::span<const std::byte> chunk);
  /// The same, but puts the events into `events`, which the caller keeps. Reuse a vector: its
  /// memory is kept. After a failure its content is not specified.
  Result<void> decode(std::span<const std::byte> chunk, std::vector<Event>& events);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns all events of a chunk, in order and equal to the encoded events. Fails with kCorrupt if
/// the bytes are not a chunk. Never allocates more than kMaxChunkEvents events need.
Result<std::vector<Event>> decode_chunk(std::span<const std::byte> chunk);

}  // namespace xylem::wire
