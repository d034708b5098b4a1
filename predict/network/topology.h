#pragma once

// Topologies: which channels a message passes on its way from a node to another one. A topology
// gives a path and nothing else; the models of the network know what a path costs.
//
// A channel leads from a node or a switch to another one, in one direction. A path begins with the
// channel out of the source (injection) and ends with the channel into the destination (ejection).
// Between two channels there is a switch: a path of n + 1 channels has n switches.
//
// Paths are computed when they are asked for, and not stored. All of them are minimal: no shorter
// path exists (in a dragonfly: none that leaves the two groups).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem::predict {

/// A node of the target, from 0.
enum class Node : std::uint32_t {};
/// A channel of a topology, from 0.
enum class ChannelId : std::uint32_t {};
/// A node or a switch. The first Topology::nodes() vertices are the nodes.
enum class Vertex : std::uint32_t {};

/// Maximum number of channels of a topology. Models keep some 30 bytes for each.
constexpr std::uint64_t kMaxChannels = std::uint64_t{1} << 24;

struct ChannelEnds {
  Vertex from;
  Vertex to;
  bool operator==(const ChannelEnds&) const = default;
};

/// A network of channels. Immutable; all functions may be called in any order, from one thread.
class Topology {
 public:
  Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  virtual ~Topology() = default;

  virtual std::uint32_t nodes() const = 0;
  virtual std::uint32_t channels() const = 0;

  /// Replaces `path` by the channels from `source` to `destination`, in their order. Empty if both
  /// are the same node. Both are below nodes(). The same pair has the same path at each call.
  virtual void find_path(Node source, Node destination, std::vector<ChannelId>& path) const = 0;

  /// Between which vertices a channel lies. For output and tests: models need only paths.
  virtual ChannelEnds ends(ChannelId channel) const = 0;
  /// A name for people: "node 3", "switch 12".
  virtual std::string name(Vertex vertex) const;
};

// All functions below fail with kInvalidArgument and a sentence if a number is 0, and above
// kMaxChannels channels.

/// One switch to which all nodes are connected.
Result<std::unique_ptr<Topology>> make_crossbar(std::uint32_t nodes);

/// A k-ary n-tree (fat tree): k^n nodes and n levels of k^(n-1) switches. `arity` is k, at least 2.
///
/// Each switch has a number of n-1 digits to the base k. Switches of levels l and l+1, counted from
/// 0 at the nodes, are connected if their numbers differ at most in digit l. Node d is at switch
/// d / k. A message goes up only as far as it must. At level l it takes the up-link that sets digit
/// l to (d / k^l) mod k (D-mod-k), so that the destinations are spread evenly over the up-links.
Result<std::unique_ptr<Topology>> make_fat_tree(std::uint32_t arity, std::uint32_t levels);

/// A grid with one switch for each node. `sizes` has 1 to 3 numbers; node x + X (y + Y z) is at
/// (x, y, z). In a torus (`wraps`) the ends of each line are connected; a line of two switches has
/// one link in each case.
///
/// Messages go in dimension order: first along x, then y, then z. In a torus they take the shorter
/// way around. If both are equally long, they go up from even coordinates and down from odd ones.
Result<std::unique_ptr<Topology>> make_grid(const std::vector<std::uint32_t>& sizes, bool wraps);

/// `groups` of `routers` switches with `nodes_per_router` nodes each. The routers of a group are
/// connected with each other, and each pair of groups by one link. Each router has at most
/// `global_links` links to other groups. Port q of a group, q = 0, 1, ..., leads to group q, or to
/// q + 1 if its own number is at most q; it is at router q / `global_links`.
struct DragonflyShape {
  std::uint32_t groups = 0;
  std::uint32_t routers = 0;
  std::uint32_t nodes_per_router = 0;
  std::uint32_t global_links = 0;
  bool operator==(const DragonflyShape&) const = default;
};

/// Minimal routing: to the router with the link to the other group, over this link, and to the
/// destination's router. Fails also with more than routers * global_links + 1 groups.
Result<std::unique_ptr<Topology>> make_dragonfly(const DragonflyShape& shape);

/// Reads a graph. Each line has two words: the ends of a link, which is a channel in each
/// direction. A number is a node, any other word is a switch. Empty lines do not count, nor does
/// what follows a '#':
///
///     0 left       # node 0 is at the switch "left"
///     1 right
///     left right
///
/// Messages take a shortest path. They do not pass through other nodes. If c links of a vertex
/// begin shortest paths, destination d takes the one with index d mod c, in the order of the file.
/// Keeps distances for up to 2^26 pairs of vertices, so that they are rarely computed twice.
///
/// `name` is the file's name in error messages. Fails with kInvalidArgument and "NAME:LINE: what,
/// and what to do" if a line has not two words, if a link does not have a switch at one end, if a
/// node's number is missing, and if no group of connected switches has links to all nodes.
Result<std::unique_ptr<Topology>> parse_graph(std::string_view text, std::string_view name);

}  // namespace xylem::predict
