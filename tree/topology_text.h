#pragma once

// Reads and writes MRNet's topology text. docs/topology-format.md describes it for users.
//
//   # a comment, to the end of the line
//   head:0  => node1:0 node2:0 ;      # the front end and its children
//   node1:0 => node3:0 node4:0 ;
//
// A process is HOST:NUMBER. Statements come in any order, one for each process with children, and
// may span lines. The process without a parent is the front end; all others are communication
// processes; back ends are not listed. `head:0 ;` is a front end alone.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tree/topology.h"

namespace xylem::tree {

/// Maximum size of a topology file.
constexpr std::size_t kMaxTopologyBytes = std::size_t{64} << 20;

/// A topology with line numbers, so that later errors about a host, once the job's hosts are known,
/// can name file and line.
struct TopologyFile {
  Topology topology;
  std::string source;                ///< Path or name of the text, as errors show it.
  std::vector<std::uint32_t> lines;  ///< By node id: where the process is named first, from 1.
};

/// Reads a text. `source` is its name in errors, which read `SOURCE:LINE: what, what to do`:
///
///   x.topo:7: host node12 is named twice: node12:0 is a child here and before (line 3); ...
///   x.topo:4: cycle: a:0 => b:0 => a:0; ...
///   x.topo:9: node5:0 is not connected: it is nobody's child, and neither is head:0 (line 1); ...
///   x.topo:2: syntax error: expected '=>' or ';' after head:0, found 'node1'; ...
///
/// Fails with kInvalidArgument for these, for an empty text, for numbers over 2^32 - 1 and for
/// texts over kMaxTopologyBytes. Safe on any input.
Result<TopologyFile> parse_topology(std::string_view text, std::string_view source);

/// Reads a file and parses it; `source` is the path as given.
/// Fails as parse_topology, and with kNotFound, kPermissionDenied or kInvalidArgument (a folder,
/// too large) or kInternal when it cannot be read.
Result<TopologyFile> read_topology_file(const std::string& path);

/// The text of a topology: one statement a line, breadth first, processes with children only (and
/// the front end always). parse_topology reads it back to an equal topology.
std::string print(const Topology& topology);

}  // namespace xylem::tree
