#pragma once

// Definitions: what a process tells once about the communicators and threads that its records name
// by a number, and about the cost of its records, and what its agent tells once about the call
// sites of its records. They travel in a registration (registration.h), with the row of the
// process.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

namespace xylem::wire {

/// The same numbers as in capture::CommunicatorKind.
enum class CommunicatorKind : std::uint8_t {
  kIntra = 0,
  kInter = 1,
  kCartesian = 2,
  kGraph = 3,
  kDistributedGraph = 4,
};

/// The stored name of a kind: "intra", "inter", ...; "intra" for numbers that this version does not
/// know.
const char* communicator_kind_name(CommunicatorKind kind);

/// A communicator other than MPI_COMM_WORLD and MPI_COMM_SELF. All members define it equally.
struct CommunicatorRow {
  CommId comm{};
  std::optional<CommId> parent;  ///< nullopt: none, or not known.
  /// Identity of the members. Communicators of one world with the same members have the same.
  std::uint64_t group = 0;
  CommunicatorKind kind = CommunicatorKind::kIntra;
  /// Number of members. In an intercommunicator: of its first group, the same in all processes.
  std::uint32_t size = 0;
  std::uint32_t second_size = 0;  ///< Size of the second group of an intercommunicator, else 0.
  bool operator==(const CommunicatorRow&) const = default;
};

/// The process is a member of a group.
struct MemberRow {
  std::uint64_t group = 0;
  std::uint32_t place = 0;  ///< Its rank in communicators of this group.
  bool is_second = false;   ///< In the second group of an intercommunicator.
  bool operator==(const MemberRow&) const = default;
};

struct CommunicatorNameRow {
  CommId comm{};
  std::string name;
  bool operator==(const CommunicatorNameRow&) const = default;
};

/// A dimension of a Cartesian grid.
struct DimensionRow {
  CommId comm{};
  std::uint32_t position = 0;
  std::int32_t size = 0;
  bool is_periodic = false;
  bool operator==(const DimensionRow&) const = default;
};

/// A neighbour of the process in a graph.
struct NeighbourRow {
  CommId comm{};
  bool is_source = false;  ///< True: the process receives from it. False: the process sends to it.
  std::uint32_t position = 0;  ///< Among the sources, or among the destinations.
  std::optional<Rank> rank;    ///< nullopt: a process of another world.
  bool operator==(const NeighbourRow&) const = default;
};

/// A place that calls MPI.
struct CallSiteRow {
  CallSiteId site{};
  std::string object;  ///< Path of the program or library, as its process names it.
  /// The GNU build id of the file, raw bytes. Empty if it has none.
  std::vector<std::byte> build_id;
  /// An address inside the instruction that calls, as in the file: subtract the address at which
  /// the file is loaded. It is what addr2line takes.
  std::uint64_t offset = 0;
  bool operator==(const CallSiteRow&) const = default;
};

/// A thread of the process uses this index from now on. Threads may use one index after another.
struct ThreadRow {
  ThreadIndex thread{};
  std::uint32_t os_thread = 0;  ///< Id of the operating system, as the process sees it.
  Nanos since_ns = 0;           ///< Run time when it took the index; 0: not known.
  bool operator==(const ThreadRow&) const = default;
};

/// A region that the program has named.
struct RegionRow {
  std::uint64_t region = 0;  ///< Identity: a hash of 48 bits, the same in all processes.
  std::string name;
  bool operator==(const RegionRow&) const = default;
};

/// Regions without a name: `visits` counts visits that a thread could not count (too many names, or
/// too deep), and begins and ends whose event was lost because the ring was full.
constexpr std::uint64_t kUncountedVisits = 0;
constexpr std::uint64_t kLostRegionEvents = 1;

/// The sums of a thread's visits of a region so far. Later rows replace earlier ones; all sums only
/// grow.
struct RegionSumRow {
  std::uint64_t region = 0;
  ThreadIndex thread{};
  std::uint64_t visits = 0;   ///< With those that have not ended.
  std::uint64_t time_ns = 0;  ///< With the regions and calls inside.
  std::uint64_t max_ns = 0;   ///< The longest visit.
  std::uint64_t mpi_ns = 0;   ///< Time in MPI inside the region, at most `time_ns`.
  bool is_estimated = false;  ///< `mpi_ns` includes estimates.
  bool operator==(const RegionSumRow&) const = default;
};

/// The numbers are the same as in capture::RecordShape.
enum class RecordShape : std::uint8_t {
  kCounted = 0,
  kCall = 1,
  kMessage = 2,
  kStart = 3,
  kCompletion = 4,
  kCollective = 5,
  kPart = 6,
};

/// The stored name of a shape: "counted", "call", ...; null for numbers that this version does not
/// know.
const char* record_shape_name(RecordShape shape);

/// What capture adds to a call of this shape.
struct RecordCostRow {
  RecordShape shape{};
  std::uint32_t picoseconds = 0;
  bool operator==(const RecordCostRow&) const = default;
};

/// What one process has defined since its last definitions, in the order of the lists.
struct Definitions {
  std::vector<CommunicatorRow> communicators;
  std::vector<MemberRow> members;
  std::vector<CommunicatorNameRow> names;
  std::vector<DimensionRow> dimensions;
  std::vector<NeighbourRow> neighbours;
  std::vector<CallSiteRow> call_sites;
  std::vector<ThreadRow> threads;
  std::vector<RecordCostRow> record_costs;
  std::vector<RegionRow> regions;
  std::vector<RegionSumRow> region_sums;
  /// Number of definitions so far that had no room in the process's log, or could not be read.
  std::uint64_t lost = 0;

  bool operator==(const Definitions&) const = default;
};

}  // namespace xylem::wire
