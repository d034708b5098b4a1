#pragma once

// Definitions: what a process tells its agent once, about things that its records name by a number.
//
// A record of a call has only the identity of its communicator. The communicator's members, name
// and topology are definitions. The process writes definitions into a log in its segment (ring.h),
// and the agent copies them into registrations. So definitions need no room in the rings, and are
// sent without a trace too. Definitions of mapped files stay in the agent: they turn the address of
// a call into a place in a file.
//
//   log:   [ head | payload | head | payload | ... ]    a ring of kDefinitionBytes bytes
//
// A payload is padded with zeros to a multiple of 8 bytes. Positions count bytes from the start of
// the process; the byte with position p is at p % kDefinitionBytes. An entry may continue at the
// beginning of the log. The process appends an entry, then publishes it by storing `head`
// (release). The agent stores `tail` after the entries before it are in its journal. An entry
// without room is dropped and counted. A repeated definition has no effect, so a restarted agent
// may read an entry again.
//
// This header needs no library, like ring.h.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace xylem::capture {

/// Size of the log, a power of two.
constexpr std::uint64_t kDefinitionBytes = 1u << 20;

struct DefinitionLog {
  // Written by the process.
  std::atomic<std::uint64_t> head;  ///< Position after the last entry.
  /// Number of entries that had no room, or whose writer waited too long for another one.
  std::atomic<std::uint64_t> dropped;
  // Written by the agent.
  alignas(
      64) std::atomic<std::uint64_t> tail;  ///< Entries before this position may be overwritten.
};

enum class DefinitionKind : std::uint16_t {
  kCommunicator = 1,      ///< CommunicatorDefinition
  kMember = 2,            ///< MemberDefinition
  kCommunicatorName = 3,  ///< CommunicatorText, then the name without a zero
  kDimensions = 4,    ///< CommunicatorList, then Dimension for each dimension of a Cartesian grid
  kSources = 5,       ///< CommunicatorList, then the world rank of each neighbour (int32) from
                      ///< which this process receives in a graph
  kDestinations = 6,  ///< The same for the neighbours to which it sends.
  kMappedFile = 7,    ///< MappedFile, then the path without a zero
  kThread = 8,        ///< ThreadDefinition
  kRecordCost = 9,    ///< RecordCostDefinition
  kRegion = 10,       ///< RegionDefinition, then the name without a zero
};

struct DefinitionHead {
  DefinitionKind kind;
  std::uint16_t bytes;  ///< Size of the payload without padding, at most kMaxDefinitionBytes.
  std::uint32_t reserved;
};
static_assert(sizeof(DefinitionHead) == 8);
constexpr std::size_t kMaxDefinitionBytes = 4096;
/// Size of a payload with its padding.
constexpr std::size_t padded_definition(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

/// How the members of a communicator are arranged.
enum class CommunicatorKind : std::uint32_t {
  kIntra = 0,
  kInter = 1,
  kCartesian = 2,
  kGraph = 3,
  kDistributedGraph = 4,
};

/// A communicator. Some of its members write it, and all of them write the same.
struct CommunicatorDefinition {
  std::uint32_t comm;    ///< Identity, see kCommWorld in ring.h.
  std::uint32_t parent;  ///< Identity of the communicator from which it was made; kNoComm: none, or
                         ///< not known.
  std::uint64_t group;   ///< Identity of its members. Communicators with the same members have the
                         ///< same.
  CommunicatorKind kind;
  /// Number of members. In an intercommunicator this is the size of the first group. The first
  /// group is the one whose hash is smaller, so it is the same in all processes.
  std::int32_t size;
  std::int32_t second_size;  ///< Size of the second group of an intercommunicator, else 0.
  std::uint32_t reserved;
};
static_assert(sizeof(CommunicatorDefinition) == 32);

/// This process is a member of `group`.
struct MemberDefinition {
  std::uint64_t group;
  std::int32_t place;       ///< Its rank in the communicators of this group.
  std::uint32_t is_second;  ///< 1: in the second group of an intercommunicator.
};
static_assert(sizeof(MemberDefinition) == 16);

struct CommunicatorText {
  std::uint32_t comm;
};

/// The elements [first, first + n) of a list with `total` elements, which several entries may
/// share.
struct CommunicatorList {
  std::uint32_t comm;
  std::uint32_t first;
  std::uint32_t total;
};

constexpr std::size_t kMaxBuildIdBytes = 32;

/// The code of a program or library at [begin, end).
struct MappedFile {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t base;            ///< Address minus `base` is the address in the file.
  std::uint64_t build_id_bytes;  ///< At most kMaxBuildIdBytes; 0: it has none.
  std::uint8_t build_id[kMaxBuildIdBytes];
};
static_assert(sizeof(MappedFile) == 64);

struct Dimension {
  std::int32_t size;
  std::int32_t is_periodic;
};

/// A thread has taken a ring. A ring may have several threads, one after another.
struct ThreadDefinition {
  std::uint32_t ring;
  std::uint32_t os_thread;        ///< Its id as the process sees it, as from gettid.
  std::uint64_t since_monotonic;  ///< CLOCK_MONOTONIC in ns when it took the ring.
};
static_assert(sizeof(ThreadDefinition) == 16);

/// A region that a program has named, see RegionTable in ring.h.
struct RegionDefinition {
  std::uint64_t region;
};

/// Shapes of calls, by what the library does for a call besides making it.
enum class RecordShape : std::uint32_t {
  kCounted = 0,     ///< Sampling leaves it out: the call is only counted.
  kCall = 1,        ///< A record with function, times, result and call site.
  kMessage = 2,     ///< A blocking send or receive: also peer, bytes and number.
  kStart = 3,       ///< The start of a receive that does not block: also its request.
  kCompletion = 4,  ///< A wait for one request that receives a message.
  kCollective = 5,  ///< A collective: also bytes, operation and number.
  kPart = 6,        ///< A further record of the same call.
};
constexpr unsigned kRecordShapes = 7;

/// The processor time that the library needs for a call of this shape, besides the real call. It
/// was measured in this process when capture started, with warm caches.
struct RecordCostDefinition {
  RecordShape shape;
  std::uint32_t picoseconds;
};
static_assert(sizeof(RecordCostDefinition) == 8);

}  // namespace xylem::capture
