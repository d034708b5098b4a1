#pragma once

// The memory that a monitored process shares with the agent of its host: one segment per process.
//
// The process creates the segment (a memfd). The agent's guard keeps the descriptor, so the last
// records of a killed process survive. Each ring has one writer, a thread of the process, and one
// reader, the agent. Writer and reader never wait for each other. If a ring is full, the new record
// is dropped, and its calls are counted.
//
//   segment: [ SegmentHeader | definitions | ThreadRing 0 | ThreadRing 1 ... | records 0 | ... ]
//
// Each part is page-aligned. The file is sparse and is never mapped as a whole. The process maps
// the records of a ring before a thread uses the ring for the first time. The agent maps them when
// the ring is in use. definitions.h describes the definitions.
//
// A ring's slots are divided into 64 blocks. When a block is full, the writer continues in the
// first free block and records the order of blocks in `block_of`. A block is free when the reader
// has passed all of it. So while the reader keeps up, the writer reuses a few blocks. These blocks
// stay in the processor's cache, and no other memory of the ring is used. When the reader falls
// behind, the writer can use the whole ring. The record with number n is in slot n % B of block
// block_of[n / B % 64], where B is limit / 64.
//
// Rules for x86-64 and AArch64, where all shared words are lock-free atomics:
//  - The writer fills a slot, then publishes it by storing `head` (release).
//  - A call counts in `calls[f]` before its record is written. A record represents `calls` calls of
//    its function: all calls since the previous record or loss of that function in that ring.
//  - When no block is free, the record is dropped and its calls count in `lost[f]`. The payload
//    counts in `lost_messages`, `lost_message_bytes` and `lost_receives`. A dropped part counts in
//    these payload counters, or in `lost_parts` if it has no payload, but not in `lost[f]`, because
//    it represents no call.
//  - A signal handler or a callback may call MPI while another call of the same thread is under
//    way. This inner call counts in `inner_calls[f]` and has no record.
//  - At the end of a process, this holds for each ring and function:
//      calls + inner_calls = sum of its records' calls + lost + pending
//    Pending calls have no record. They are inner calls, the last calls of a sampled function,
//    calls that the thread has left (for example by longjmp), or a call in which the process died.
//    When the process has ended, the agent stores them in a window.
//  - A thread publishes each timed call before the real call begins (CallUnderWay), and takes it
//    back before it reads the time at which the call has ended. So a call that is seen under way
//    ends after it was seen. The processor may delay the store, but not for microseconds.
//  - An agent that sleeps looks at the rings once a second. Before, it changes `enabled` from kOn
//  to
//    kOnAgentSleeps. The next call changes it back and wakes the agent: one system call for each
//    sleep.
//  - Only the agent writes the fields that are marked as written by the agent. It advances `tail`
//    only after all records before the new `tail` are in its journal.
//
// This header needs no library, because the capture library includes it in the application's
// process.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/core/definitions.h"

namespace xylem::capture {

constexpr std::uint64_t kSegmentMagic = 0x31676573'6d6c7978;  // "xylmseg1"
constexpr std::uint32_t kLayoutVersion = 9;

/// Limits of the layout. Functions are numbered from 0 in the order of the function table.
constexpr std::uint32_t kMaxFunctions = 1024;  // Fits into Record::function.
constexpr std::uint32_t kMaxThreads = 64;
constexpr std::uint32_t kRingBlocks = 64;
constexpr std::uint32_t kPopulatedBlocks = 4;  ///< Number of blocks whose memory is populated in
                                               ///< advance.
constexpr std::uint32_t kDefaultRingRecords = 1u << 18;  ///< 16 MiB, allocated on use.
constexpr std::uint32_t kMaxRingRecords = 1u << 22;
constexpr std::uint32_t kMinRingRecords = kRingBlocks;
constexpr unsigned kWorldKeyBytes = 16;

/// Values of Record fields that mean "none" or "not known".
constexpr std::int32_t kNoPeer = -1;
constexpr std::int32_t kNoTag = -2147483647 - 1;
constexpr std::uint32_t kNoComm = 0xffffffff;
constexpr std::uint16_t kNoCpu = 0xffff;

/// Identity of communicators, the same in every process of the world: 0 is MPI_COMM_WORLD, 1 is
/// MPI_COMM_SELF. The identity of any other communicator is above 1; comm_map_internal.h says how
/// it is computed. definitions.h describes what is known of a communicator.
constexpr std::uint32_t kCommWorld = 0;
constexpr std::uint32_t kCommSelf = 1;

/// Flags of a record.
constexpr std::uint16_t kRecordEstimated = 1;  ///< Only one of the record's calls was timed.
constexpr std::uint16_t kRecordSend = 2;       ///< Payload sent to `peer`; it counts in the
                                               ///< communication matrix.
constexpr std::uint16_t kRecordReceive = 4;    ///< Payload received from `peer`.
constexpr std::uint16_t kRecordNumbered = 8;   ///< `number` is known.
/// The record's call has started the operation of `request`; for example MPI_Irecv, MPI_Start.
constexpr std::uint16_t kRecordPosts = 16;
/// The operation of `request` is complete, and the program knows it: a wait or a test has said so.
constexpr std::uint16_t kRecordCompletes = 32;
/// What a test or a probe that does not block has answered: that something was complete or had
/// arrived, or that nothing was or had. Waits and failed calls have neither.
constexpr std::uint16_t kRecordSucceeds = 64;
constexpr std::uint16_t kRecordFindsNothing = 128;
/// The receive or the probe asked for any source, or for any tag.
constexpr std::uint16_t kRecordAnySource = 256;
constexpr std::uint16_t kRecordAnyTag = 512;
/// This rank passed MPI_IN_PLACE to a collective.
constexpr std::uint16_t kRecordInPlace = 1024;
/// A collective: `room` is the size that this rank receives, and `tag` is its ReduceOperation, or
/// kNoTag if it computes nothing.
constexpr std::uint16_t kRecordCollective = 2048;
/// A part of a collective with a size for each member: what this rank sends to `peer` (`bytes`) and
/// receives from it (`room`). Only for members with which it exchanges something.
constexpr std::uint16_t kRecordBlock = 4096;
/// A receive, or the start of one, has posted a buffer for a message. `room` is its size.
constexpr std::uint16_t kRecordHasBuffer = 8192;
/// The call has failed. Its return code is in `room`; see result_of().
constexpr std::uint16_t kRecordFailed = 1 << 14;
/// The record is a part of a call: a request that the call completed or, with kRecordPosts,
/// started; or a block. A call with several parts has one such record for each, after its own
/// record. It is also the payload of a call that sampling leaves out. `calls` is 0.
constexpr std::uint16_t kRecordPart = 1 << 15;

/// The operation of a reduction.
enum class ReduceOperation : std::int32_t {
  kUser = 0,  ///< Made by MPI_Op_create, or unknown.
  kMax = 1,
  kMin = 2,
  kSum = 3,
  kProd = 4,
  kLogicalAnd = 5,
  kBitAnd = 6,
  kLogicalOr = 7,
  kBitOr = 8,
  kLogicalXor = 9,
  kBitXor = 10,
  kMinLoc = 11,
  kMaxLoc = 12,
  kReplace = 13,
  kNoOp = 14,
};
constexpr unsigned kReduceOperations = 15;

/// A record represents at most this number of calls.
constexpr std::uint32_t kMaxRecordCalls = 0xffff;
/// Sizes and requests in a record have at most this value.
constexpr std::uint64_t kMaxRecordBytes = (std::uint64_t{1} << 48) - 1;
/// Addresses of code have at most this value on x86-64 and AArch64.
constexpr std::uint64_t kMaxAddress = (std::uint64_t{1} << 48) - 1;

/// Kinds of records. The numbers are those of wire::Event::kind; number 1 is a part of a call
/// there.
constexpr std::uint64_t kRecordOfMpi = 0;  ///< A call, or a part of it.
/// The begin (kRecordPosts) or the end (kRecordCompletes) of a region: a moment. `calls` is 0,
/// `bytes` is the region (region_of_name), and `tag` its depth: 0 for the outermost region, -1 for
/// the level of MPI_Pcontrol. Without a trace there are no such records, because nobody reads them.
constexpr std::uint64_t kRecordOfRegion = 2;

/// The record of a call. Times are ticks of the segment's clock.
struct Record {
  std::uint64_t begin;
  std::uint64_t end;
  /// The operation that the call started, waited for, tested, cancelled or freed. It has a number
  /// that the process uses once (see request_number). 0 if there is none or it is not known.
  std::uint64_t request : 48;
  std::uint64_t function : 12;  ///< Index into the function table.
  std::uint64_t kind : 4;       ///< kRecordOfMpi or kRecordOfRegion.
  std::uint64_t bytes : 48;  ///< Payload size: count times type size; for a receive, the received
                             ///< size.
  /// Number of calls that the record represents. It is 0 for a part. It is above 1 if the function
  /// is sampled, or if the calls were made before capture started.
  std::uint64_t calls : 16;
  /// The size of the receiving side in bytes. It is known only with kRecordHasBuffer,
  /// kRecordCollective or kRecordBlock. With kRecordFailed, it is the return code.
  std::uint64_t room : 48;
  std::uint64_t flags : 16;
  std::uint32_t comm;  ///< Identity (see kCommWorld); kNoComm if there is none or it is unknown.
  std::int32_t peer;   ///< World rank of the other side, or of the root in a rooted collective;
                       ///< kNoPeer if there is none.
  std::int32_t tag;    ///< kNoTag if there is none.
  /// With kRecordNumbered: number of the message in its channel, or of the collective on its
  /// communicator; see wire::kEventNumbered. Else 0.
  std::uint32_t number;
  /// Processor on which the call has ended; kNoCpu if it is not known.
  std::uint64_t cpu : 16;
  /// Return address of the wrapper: it is in the code that made the call, behind the call. 0 if it
  /// is not known.
  std::uint64_t caller : 48;
};
static_assert(sizeof(Record) == 64);

constexpr bool is_part(const Record& record) { return (record.flags & kRecordPart) != 0; }
/// The function's return code; 0 means success.
constexpr std::int32_t result_of(const Record& record) {
  return (record.flags & kRecordFailed) != 0 ? static_cast<std::int32_t>(record.room) : 0;
}
constexpr void set_result(Record& record, std::int32_t result) {
  if (result == 0) return;
  record.flags = record.flags | kRecordFailed;
  record.room = static_cast<std::uint32_t>(result);
}

/// The number of the `count`-th operation, counted from 1, that the thread of a ring has started.
/// It differs from the numbers of all other operations of the process, also if they have the same
/// MPI_Request. A persistent request has another number at each start. `count` is below 2^40.
constexpr std::uint64_t request_number(std::uint32_t ring, std::uint64_t count) {
  return std::uint64_t{ring} << 40 | count;
}

/// Classes of functions, for reports and the simulator. wire/registration.h has their names.
enum class FunctionClass : std::uint8_t {
  kOther = 0,
  kPointToPoint = 1,  ///< Blocking and non-blocking sends and receives, persistent starts.
  kCollective = 2,
  kCompletion = 3,  ///< Wait and test.
  kProbe = 4,
  kCommunicator = 5,  ///< Makes or frees communicators, groups, topologies.
  kDatatype = 6,
  kOneSided = 7,
  kFile = 8,
  kEnvironment = 9,  ///< Init, finalize, clocks, errors, info.
  kTool = 10,        ///< MPI_T.
};

struct FunctionEntry {
  char name[54];  ///< Ends with a zero.
  /// 1 if the function is known never to wait for other ranks (for example clocks, MPI_Iprobe).
  std::uint8_t never_waits;
  FunctionClass function_class;
};
static_assert(sizeof(FunctionEntry) == 56);

/// The stage of a process. The capture library in that process sets it. Death by a signal does not
/// change the state; the agent detects this death by watching the process.
enum class ProcessState : std::uint32_t {
  kStarting = 0,   ///< MPI_Init has not returned.
  kRunning = 1,    ///< MPI_Init has returned; world, rank and size are valid.
  kFinalized = 2,  ///< MPI_Finalize has returned.
  kExited = 3,     ///< The library's destructor ran.
};

enum class ClockKind : std::uint32_t {
  kTsc = 0,        ///< The invariant time-stamp counter (rdtsc).
  kMonotonic = 1,  ///< CLOCK_MONOTONIC in ns.
};

/// Values of SegmentHeader::enabled, the agent's switch.
constexpr std::uint32_t kOff = 0;  ///< Calls are neither recorded nor counted.
constexpr std::uint32_t kOn = 1;
/// As kOn. The agent sleeps: the next call stores kOn and then wakes it (FUTEX_WAKE on the switch).
constexpr std::uint32_t kOnAgentSleeps = 2;

/// The call that a thread is in. Calls that sampling does not time, inner calls and parts of calls
/// are not published. Publishing takes six stores into the cache line of `head`. Order of the
/// stores, all but the first of them release stores:
///
///   begin = 0, where, function | begin = ticks | where = peer and communicator | the call | begin
///   = 0
///
/// To read it, load `begin`, then the other fields, then `begin` again, each with acquire. If both
/// values of `begin` are equal, the fields belong to this call. Peer and communicator may still be
/// missing. If the reader then finds a record with this begin, the call has ended meanwhile. If a
/// call was left by an exception or longjmp, it stays published until the thread's next call.
struct CallUnderWay {
  std::atomic<std::uint64_t> begin;  ///< Ticks of the segment's clock; 0: the thread is in no call.
  /// Peer (upper half) and communicator (lower half) of the call, as in Record; see where_of().
  std::atomic<std::uint64_t> where;
  std::atomic<std::uint32_t> function;
  std::uint32_t reserved;
};
static_assert(sizeof(CallUnderWay) == 24);

/// CallUnderWay::where, and back.
constexpr std::uint64_t where_of(std::int32_t peer, std::uint32_t comm) {
  return std::uint64_t{static_cast<std::uint32_t>(peer)} << 32 | comm;
}
constexpr std::int32_t peer_of(std::uint64_t where) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(where >> 32));
}
constexpr std::uint32_t comm_of(std::uint64_t where) { return static_cast<std::uint32_t>(where); }
constexpr std::uint64_t kNowhere = where_of(kNoPeer, kNoComm);

/// Regions that a program has named (capture/region/region.h). A thread has sums for at most
/// kMaxRegions names, and counts at most kMaxRegionDepth regions inside each other.
constexpr std::uint32_t kMaxRegions = 256;
constexpr std::uint32_t kMaxRegionDepth = 32;

/// The sums over the visits of a region that have ended.
struct RegionSum {
  std::atomic<std::uint64_t> region;  ///< Its identity, see region_of_name().
  std::atomic<std::uint64_t> visits;
  std::atomic<std::uint64_t> time_ns;    ///< With the regions and calls inside.
  std::atomic<std::uint64_t> max_ns;     ///< The longest visit.
  std::atomic<std::uint64_t> mpi_ticks;  ///< Time in MPI inside, see ThreadRing::mpi_ticks.
  std::atomic<std::uint64_t> estimated;  ///< 1: some of the calls inside were not timed.
};

/// A region that the thread is in.
struct OpenRegion {
  std::atomic<std::uint64_t> begin_ns;   ///< CLOCK_MONOTONIC.
  std::atomic<std::uint64_t> mpi_ticks;  ///< ThreadRing::mpi_ticks at its begin.
  std::atomic<std::uint64_t> untimed;    ///< RegionTable::untimed at its begin.
  /// Index into `sums`; kNoRegionSum: the visit is not counted.
  std::atomic<std::uint64_t> sum;
};
constexpr std::uint64_t kNoRegionSum = ~std::uint64_t{0};

/// Written by the thread. To read it, load ThreadRing::regions_version, then the table, then the
/// version again, each with acquire. If both versions are equal and even, what was read belongs
/// together. Version 0: the thread was in no region so far.
struct alignas(64) RegionTable {
  std::atomic<std::uint64_t> depth;    ///< Regions that the thread is in; may be above the maximum.
  std::atomic<std::uint64_t> count;    ///< Number of `sums` in use.
  std::atomic<std::uint64_t> dropped;  ///< Visits that were not counted, because there was no room.
  std::atomic<std::uint64_t> lost_records;  ///< Begins and ends that met a full ring.
  std::atomic<std::uint64_t> untimed;       ///< Calls of the thread that were not timed so far.
  OpenRegion level;                  ///< The level of MPI_Pcontrol; `begin_ns` 0: the normal level.
  OpenRegion open[kMaxRegionDepth];  ///< The first `depth`, outermost first.
  RegionSum sums[kMaxRegions];
};
/// Identities below this do not stand for a name.
constexpr std::uint64_t kFirstRegion = 2;
/// The identity of a region: 48 bits of FNV-1a of its name. The same in all processes.
constexpr std::uint64_t region_of_name(const char* name, std::size_t bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100000001b3u;
  hash &= kMaxRecordBytes;
  return hash < kFirstRegion ? hash + kFirstRegion : hash;
}
/// A longer name is cut.
constexpr std::size_t kMaxRegionName = 200;

struct alignas(64) ThreadRing {
  // Written by the thread.
  std::atomic<std::uint64_t> head;   ///< Records published so far.
  std::atomic<std::uint32_t> used;   ///< 1 after a thread has taken this ring for the first time.
                                     ///< Later threads may reuse the ring.
  std::atomic<std::uint32_t> limit;  ///< Number of slots, a power of two; set before `used`.
  /// Time of the thread's recorded calls so far. The calls that sampling leaves out take as long as
  /// the next one that is timed, but no longer than the time since `mpi_until`.
  std::atomic<std::uint64_t> mpi_ticks;
  /// End of the last timed call, in ticks. Stored before `mpi_ticks`.
  std::atomic<std::uint64_t> mpi_until;
  /// Grows before and after each change of `regions`.
  std::atomic<std::uint64_t> regions_version;
  CallUnderWay under_way;

  // Written by the agent; on a separate cache line.
  alignas(64) std::atomic<std::uint64_t> tail;  ///< Records with smaller numbers may be
                                                ///< overwritten.
  std::uint64_t window_position;  ///< Records with smaller numbers are in journalled windows.
  /// Records with smaller numbers are in journalled chunks, or were taken while chunks were off.
  std::uint64_t chunk_position;
  std::uint64_t chunk_events;  ///< Number of records stored in chunks. Records taken while chunks
                               ///< were off are not included.
  std::uint64_t chunk_calls;   ///< Sum of `calls` of these records.
  /// Time of the run up to which the thread's calls are counted in the times of journalled windows.
  std::int64_t charged_ns;
  /// End of the last record in journalled windows, and of the last record in journalled chunks.
  /// Both are times of the run.
  std::int64_t window_end_ns;
  std::int64_t chunk_end_ns;

  // Written by the thread: record n is in block `block_of[n / B % 64]`. The entry is set before the
  // first record in that block is published.
  alignas(64) std::atomic<std::uint8_t> block_of[kRingBlocks];

  // Written by the thread: exact counts, which the agent reads at any time.
  alignas(64) std::atomic<std::uint64_t> calls[kMaxFunctions];
  std::atomic<std::uint64_t> lost[kMaxFunctions];
  std::atomic<std::uint64_t> inner_calls[kMaxFunctions];
  // Counts of records that were dropped because the ring was full.
  std::atomic<std::uint64_t> lost_messages;       ///< Dropped records with kRecordSend.
  std::atomic<std::uint64_t> lost_message_bytes;  ///< Payload of these records.
  std::atomic<std::uint64_t> lost_receives;       ///< Dropped records with kRecordReceive.
  /// Dropped parts that stand for no payload of a message.
  std::atomic<std::uint64_t> lost_parts;
  RegionTable regions;

  // Written by the agent: the last call that was counted while it was under way. Its begin in
  // ticks, and the time of the run that these ticks were converted to. Ticks 0: there was none.
  alignas(64) std::uint64_t open_begin;
  std::int64_t open_begin_ns;
};

static_assert(offsetof(ThreadRing, tail) == 64 && offsetof(ThreadRing, block_of) == 128);

/// The slot of record `number` in a ring of `limit` slots. An invalid block number is brought into
/// range, because memory written by the process is not trusted.
inline std::uint64_t slot_of(const ThreadRing& ring, std::uint64_t number,
                             std::uint32_t limit) noexcept {
  const std::uint64_t block_records = limit / kRingBlocks;
  const std::uint8_t block =
      ring.block_of[number / block_records % kRingBlocks].load(std::memory_order_relaxed);
  return block % kRingBlocks * block_records + number % block_records;
}

struct alignas(64) SegmentHeader {
  std::uint64_t magic;
  std::uint32_t layout_version;
  std::uint32_t ring_records;  ///< Maximum number of slots of each ring, a power of two.
  std::uint32_t max_rings;     ///< Number of rings in the segment, at most kMaxThreads.
  /// What MPI_Query_thread has said, plus 1; 0: not known. Set before `state` is kRunning.
  std::uint32_t thread_level;
  std::uint64_t segment_bytes;
  std::uint32_t pid;
  ClockKind clock;
  /// Field 22 of /proc/PID/stat. It distinguishes processes with the same pid.
  std::uint64_t start_time;

  std::atomic<ProcessState> state;
  std::uint32_t world_size;
  std::uint8_t world_key[kWorldKeyBytes];  ///< Equal in all processes of one MPI_COMM_WORLD.
  std::uint32_t rank;
  char mpi_library[44];  ///< For people: "MPICH 4.0.2", "Open MPI 4.1.4".
  char program[128];     ///< Path of the program, cut if longer.

  std::uint32_t function_count;
  /// Written by the agent: 1 when the last account of this process is journalled.
  std::uint32_t agent_finished;
  /// The agent's switch: kOff, kOn or kOnAgentSleeps. The process changes kOnAgentSleeps to kOn.
  alignas(64) std::atomic<std::uint32_t> enabled;
  /// Written by the agent: 1 after `enabled` was kOff once. Then messages were not counted, and the
  /// numbers of later ones are unknown.
  std::atomic<std::uint32_t> was_disabled;
  /// Written by the agent: 1 when capture is switched off for ever, because the run is over.
  std::atomic<std::uint32_t> is_over;
  /// Written by the agent: 1 while it stores no trace. Then no records with kRecordBlock are
  /// written, because nobody reads them.
  std::atomic<std::uint32_t> is_untraced;
  std::atomic<std::uint32_t> threads;         ///< Rings with this number and above have not
                                              ///< been used.
  std::atomic<std::uint64_t> ringless_calls;  ///< Calls of threads without a ring. They count as
                                              ///< lost.
  std::atomic<std::uint64_t> untracked_requests;  ///< Requests and matched messages that could not
                                                  ///< be followed.
  DefinitionLog definitions;

  // Written by the agent: calls of each function in journalled windows, over all threads.
  alignas(64) std::uint64_t windowed_calls[kMaxFunctions];
  // Set by the process at start. With value N, one call in N gets a record. In each ring, calls
  // number 1, 2, 4, 8, … of a function get one too.
  std::atomic<std::uint32_t> sample_every[kMaxFunctions];
  FunctionEntry functions[kMaxFunctions];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t round_to_page(std::uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

/// Offsets of a segment's parts, and the segment's size, in bytes.
constexpr std::uint64_t definitions_offset() { return round_to_page(sizeof(SegmentHeader)); }
constexpr std::uint64_t ring_offset(std::uint32_t ring) {
  return definitions_offset() + kDefinitionBytes + ring * round_to_page(sizeof(ThreadRing));
}
constexpr std::uint64_t records_bytes(std::uint32_t records) {
  return round_to_page(std::uint64_t{records} * sizeof(Record));
}
constexpr std::uint64_t records_offset(std::uint32_t ring, std::uint32_t max_rings,
                                       std::uint32_t ring_records) {
  return ring_offset(max_rings) + ring * records_bytes(ring_records);
}
constexpr std::uint64_t segment_bytes(std::uint32_t max_rings, std::uint32_t ring_records) {
  return records_offset(max_rings, max_rings, ring_records);
}

/// The message that a process sends to the agent's socket, together with the segment's descriptor
/// (SCM_RIGHTS). The process does not wait for an answer. The agent gets the pid from the kernel.
///
/// A process without a segment cannot be watched. Instead of a descriptor it sends the reason,
/// which is stored in the run's file. Its rank and world size then come from the launcher.
struct Registration {
  std::uint64_t magic;  ///< kSegmentMagic
  std::uint32_t layout_version;
  std::uint32_t pid;             ///< The pid as the process itself sees it.
  std::uint64_t start_time = 0;  ///< Field 22 of /proc/PID/stat.
  std::uint32_t rank = 0;        ///< The launcher's value; 0 if the launcher gives no rank.
  std::uint32_t world_size = 0;  ///< The launcher's value; `rank` + 1 if the launcher gives no
                                 ///< size.
  std::uint8_t world_key[kWorldKeyBytes] = {};
  /// Reason why there is no segment, as part of a sentence. Empty if there is a segment.
  char unwatched[160] = {};
};

}  // namespace xylem::capture
