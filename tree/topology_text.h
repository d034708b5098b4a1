#pragma once

// Reads and writes MRNet's topology text. docs/topology-format.md describes it for users.
//
//   # a comment, to the end of the line
//   head:0  => node1:0 node2:0 ;      # the front end and its children
//   node1:0 => node3:0 node4:0 ;
//
// A process is HOST:NUMBER. Each process with children has one statement. Statements may be in any
// order and may have several lines. The process without a parent is the front end; all others are
// communication processes. Back ends are not listed. The text `head:0 ;` describes a tree that has
// only the front end.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tree/topology.h"

namespace xylem::tree {

/// Maximum size of a topology file.
constexpr std::size_t kMaxTopologyBytes = std::size_t{64} << 20;

/// A topology with line numbers. Some errors about hosts are found only later, when the job's hosts
/// are known. Thanks to the line numbers, their messages can name the file and the line.
struct TopologyFile {
  Topology topology;
  std::string source;  ///< Path or name of the text in error messages.
  /// For each node id, the line that lists the process as a child; for the front end, the line of
  /// its statement. Lines are counted from 1.
  std::vector<std::uint32_t> lines;
};

/// Parses a text. `source` is the name of the text in error messages. For example:
///
///   x.topo:7: host node12 is named twice: node12:0 is a child here and before (line 3); ...
///   x.topo:4: cycle: a:0 => b:0 => a:0; ...
///   x.topo:9: node5:0 is not connected: it is nobody's child, and neither is head:0 (line 1); ...
///   x.topo:2: syntax error: expected '=>' or ';' after head:0, found 'node1'; ...
///
/// Fails with kInvalidArgument in these four cases. Also fails if the text has no statement, if it
/// has more than kMaxTopologyBytes, or if there are more than kMaxCommProcesses communication
/// processes; only the last two messages have no line. Safe on any input.
Result<TopologyFile> parse_topology(std::string_view text, std::string_view source);

/// Reads a file and parses it. The path is the `source` in error messages. Fails if
/// parse_topology() fails. If the file cannot be read, fails with kNotFound, kPermissionDenied,
/// kInvalidArgument (a folder, or too large) or kInternal.
Result<TopologyFile> read_topology_file(const std::string& path);

/// Returns the text of a topology: one statement on each line, breadth first. Only the front end
/// and processes with children have a statement. parse_topology() reads an equal topology from this
/// text.
std::string print(const Topology& topology);

}  // namespace xylem::tree
