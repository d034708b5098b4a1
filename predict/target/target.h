#pragma once

// The machine for which a run is predicted, as a TOML file. example_target() has all keys. The
// smallest target is a network as LogGPS describes it; each rank has a node of its own then:
//
//   [network]                    # LogGPS, see network/loggps.h
//   latency_ns = 2500            # L
//   overhead_ns = 1500           # o
//   gap_ns = 1000                # g
//   gap_per_byte_ns = 0.18       # G
//   overhead_per_byte_ns = 0     # O
//   eager_bytes = 65535          # S
//
//   [collectives]                # may be left out
//   choice = "mpich"             # or "openmpi": who chooses the algorithms (collectives/choice.h)
//   reduce_ns_per_byte = 0.1     # time to reduce a byte with another one; 0 if it is left out
//   bcast = "binomial"           # this algorithm for all calls; names as in collectives/schedule.h

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "predict/collectives/choice.h"
#include "predict/disk/options.h"
#include "predict/network/fabric.h"
#include "predict/network/loggps.h"
#include "predict/network/topology.h"

namespace xylem::predict {

enum class TopologyKind : std::uint8_t {
  kNone,
  kCrossbar,
  kFatTree,
  kMesh,
  kTorus,
  kDragonfly,
  kGraph,
};

/// The section [topology]. Only the numbers of the kind count.
struct TopologyOptions {
  TopologyKind kind = TopologyKind::kNone;
  std::uint32_t nodes = 0;           ///< kCrossbar
  std::uint32_t arity = 0;           ///< kFatTree
  std::uint32_t levels = 0;          ///< kFatTree
  std::vector<std::uint32_t> sizes;  ///< kMesh, kTorus
  DragonflyShape dragonfly;          ///< kDragonfly
  std::string file;                  ///< kGraph. Relative to the target's folder.

  bool operator==(const TopologyOptions&) const = default;
};

/// Which ranks are on which node. A node has at most Target::max_ranks() ranks.
enum class MappingKind : std::uint8_t {
  kBlock,   ///< The first ranks fill node 0, the next ones node 1, and so on.
  kCyclic,  ///< Rank r is on node r mod the number of nodes.
  kFile,    ///< A file has the node of each rank.
};

/// The target. The defaults of a file are those of this struct, but a file has all keys that are
/// needed.
struct Target {
  LogGps network;
  /// Floating-point operations that a processor makes in a nanosecond. Above 0.
  double flops_per_ns = 1;
  /// Speed of a core in millionths of that on which programs in ns were recorded. Above 0.
  std::uint64_t processor_ratio = 1'000'000;
  std::uint32_t nodes = 0;      ///< 0: all of the topology; without a topology, as many as needed.
  std::uint32_t cores = 1;      ///< Of a node.
  std::uint32_t processes = 0;  ///< Maximum number of ranks on a node. 0: as many as cores.
  /// Time slice of the round robin. Above 0 if a node may have more ranks than cores.
  std::uint64_t slice_ns = 0;
  MemoryPath memory;
  TopologyOptions topology;
  Fabric fabric;
  MappingKind mapping = MappingKind::kBlock;
  std::string mapping_file;  ///< For kFile. Relative to the target's folder.
  CollectiveModel collectives;
  StorageOptions storage;  ///< The section [storage].

  std::uint32_t max_ranks() const { return processes > 0 ? processes : cores; }

  bool operator==(const Target&) const = default;
};

/// Reads the entries of a file. `name` is the file's name in error messages. Fails with
/// kInvalidArgument and "NAME:LINE: what, and what to do" on an unknown key, a value that is not
/// possible, a key that is missing, a key that would have no effect, and a shape that is not
/// possible. Does not read the files that the target names.
Result<Target> read_target(const std::vector<ConfigEntry>& entries, std::string_view name);

/// A target with all keys and a comment for each. It can be read.
std::string_view example_target();

/// A mapping from a file, with an element for each rank.
struct Mapping {
  std::string path;  ///< For error messages.
  std::vector<Node> nodes;
  std::vector<int> lines;  ///< The line of the file that names the node.
};

/// A target whose files have been read.
struct LoadedTarget {
  Target target;
  std::unique_ptr<Topology> topology;  ///< Null if the target has none.
  Mapping mapping;                     ///< For kFile.
  std::string path;                    ///< For error messages.
};

/// Reads a target, its graph and its mapping. Fails if a file cannot be read, see read_text_file(),
/// and as read_target(), parse_graph() and parse_mapping() do. Fails with kInvalidArgument if
/// node.count is above the number of nodes of the topology.
Result<LoadedTarget> load_target(const std::string& path);

/// Reads a mapping: the node of rank 0, of rank 1, and so on, separated by white space. What
/// follows a '#' does not count. Fails with kInvalidArgument and "NAME:LINE: ..." on anything else
/// than numbers below kMaxChannels.
Result<Mapping> parse_mapping(std::string_view text, std::string_view name);

/// The node of each storage node. Empty if the target has none. Without a topology the numbers do
/// not count.
std::vector<Node> storage_nodes(const LoadedTarget& target);

/// The nodes of `ranks` ranks, none of which is a storage node. Empty if the target has no
/// topology, and one rank on each node. Fails with kInvalidArgument if the target has too few nodes
/// or room for too few ranks, and if a mapping from a file has too few ranks, a node that does not
/// exist or is a storage node, or too many ranks on a node. Messages begin with the file, and with
/// the line if one is wrong.
Result<std::vector<Node>> place_ranks(const LoadedTarget& target, std::size_t ranks);

}  // namespace xylem::predict
