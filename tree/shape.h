#pragma once

// The shape of a tree in one line of text. This form is used in the option --topology, the variable
// XYLEM_TOPOLOGY, the configuration file and `xylem place`.
//
//   flat                    no communication process: every back end attaches to the front end
//   kary:K                  for B back ends, there are ceil(B / K) internal leaves. Each level
//                           above has one node for K nodes of the level below, up to the front end.
//                           `kary` without a number is kary:16
//   balanced:DEPTHxFANOUT   DEPTH levels of communication processes. The front end and each process
//                           above the last level have FANOUT children, so there are FANOUT^DEPTH
//                           internal leaves
//   binomial:ORDER          a binomial tree of 2^ORDER nodes, including the front end. `binomial`
//                           without a number is the smallest binomial tree in which each internal
//                           leaf has at most 16 back ends
//   file:PATH               a topology file (docs/topology-format.md), which also names the hosts
//   PATH                    also a topology file, if the file exists and PATH has none of the
//                           forms above

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tree/skeleton.h"

namespace xylem::tree {

/// Default number of children per node.
constexpr std::uint32_t kDefaultFanout = 16;

/// A parsed shape. Only the fields for `kind` are used; the others are 0 or empty.
struct Shape {
  enum class Kind { kFlat, kKary, kBalanced, kBinomial, kFile };
  Kind kind = Kind::kKary;
  std::uint32_t fanout = kDefaultFanout;  ///< kKary: K, at least 2. kBalanced: at least 1.
  /// kBalanced: the number of levels, at least 1. kBinomial: the order; 0 means as large as needed.
  std::uint32_t depth = 0;
  std::string path;  ///< Only for kFile.

  bool operator==(const Shape&) const = default;
};

/// Parses a shape; the beginning of this file lists the forms. If the text has none of the forms
/// with a keyword, checks whether a file with this name exists. Never opens the file.
///
/// Fails with kNotFound if the text looks like a path (it has '/' or '.') and the file does not
/// exist. Fails with kInvalidArgument if the text is not a shape or a number is out of range, also
/// if a tree of `balanced` or `binomial` would have more than kMaxCommProcesses. The message quotes
/// the text. If the text has none of the forms, the message lists the valid forms.
Result<Shape> parse_shape(std::string_view text);

/// Returns the text of a shape, with default values: "kary:16". parse_shape() reads the same shape
/// from this text.
std::string to_text(const Shape& shape);

/// Makes the tree of a shape for this number of back ends.
///
///   kary:2, 8 back ends              4 internal leaves and 2 nodes above them
///   kary:16, at most 16 back ends    only the front end, which is the internal leaf
///   kary:8, 65 back ends             9 internal leaves and 2 nodes above, with 5 and 4 children
///
/// With `kary` and `balanced`, the nodes of a level are divided among the nodes of the level above.
/// On a level, the numbers of children differ by at most one, and the nodes with more children come
/// first. The trees of `balanced` and `binomial:ORDER` do not depend on the number of back ends.
///
/// Fails with kInvalidArgument for kFile, because the file itself describes the tree
/// (topology_text.h). Also fails if a field of `shape` is out of range, or if the tree would have
/// more than kMaxCommProcesses.
Result<Skeleton> grow(const Shape& shape, std::size_t back_ends);

}  // namespace xylem::tree
