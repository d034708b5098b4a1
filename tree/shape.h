#pragma once

// The shape of a tree in one line of text. --topology, XYLEM_TOPOLOGY, the configuration file and
// `xylem place` use the same form.
//
//   flat                    no communication process: every back end attaches to the front end
//   kary:K                  ceil(#BE / K) internal leaves, then levels of ceil(n / K) up to the
//                           front end; `kary` without a number is kary:16
//   balanced:DEPTHxFANOUT   DEPTH levels of communication processes, FANOUT children for the front
//                           end and for each of them, down to FANOUT^DEPTH internal leaves
//   binomial:ORDER          a binomial tree of 2^ORDER nodes, the front end included; `binomial`
//                           without a number is the smallest binomial tree whose internal leaves
//                           have at most 16 back ends each
//   file:PATH               a topology file (docs/topology-format.md), which also names the hosts
//   PATH                    the same, if this file exists and PATH is none of the words above

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tree/skeleton.h"

namespace xylem::tree {

/// Default number of children per node.
constexpr std::uint32_t kDefaultFanout = 16;

/// A parsed shape. Only the fields for its kind are used; the others are 0 or empty.
struct Shape {
  enum class Kind { kFlat, kKary, kBalanced, kBinomial, kFile };
  Kind kind = Kind::kKary;
  std::uint32_t fanout = kDefaultFanout;  ///< kKary: K, at least 2. kBalanced: at least 1.
  /// kBalanced: at least 1. kBinomial: the order; 0: as large as needed.
  std::uint32_t depth = 0;
  std::string path;  ///< Only for kFile.

  bool operator==(const Shape&) const = default;
};

/// Parses a shape; see the list above. If the text is none of the other shapes, checks whether a
/// file of this name exists. It never opens the file.
///
/// Fails with kInvalidArgument (not a shape, a number out of range, a tree of more than
/// kMaxCommProcesses) or kNotFound (the text looks like a path and the file does not exist). The
/// message quotes the text and lists the valid forms.
Result<Shape> parse_shape(std::string_view text);

/// Returns the text from which parse_shape reads the same shape, with defaults written out:
/// "kary:16".
std::string to_text(const Shape& shape);

/// Makes the tree of a shape for this number of back ends.
///
///   kary:2, 8 back ends    4 internal leaves and 2 nodes above them: 6 communication processes
///   kary:16, at most 16    the front end alone, because ceil(n / K) = 1 is the front end itself
///   kary:8, 65             9 internal leaves and 2 nodes above them, with 5 and 4 children
///
/// The nodes of a level are divided among the nodes of the level above. Each of these gets
/// consecutive nodes; their numbers differ by at most one, and the larger parts come first.
/// balanced and binomial:ORDER do not depend on the number of back ends.
///
/// Fails with kInvalidArgument for kFile (a file holds its own tree, see topology_text.h), for
/// fields outside the ranges above, and if the tree would have more than kMaxCommProcesses.
Result<Skeleton> grow(const Shape& shape, std::size_t back_ends);

}  // namespace xylem::tree
