#pragma once

// The shape of a tree in one line of text. --topology, XYLEM_TOPOLOGY, the configuration file and
// `xylem place` use the same form.
//
//   flat                    no communication process: every back end attaches to the front end
//   kary:K                  ceil(#BE / K) internal leaves, then levels of ceil(n / K) up to the
//                           front end; `kary` alone is kary:16
//   balanced:DEPTHxFANOUT   DEPTH levels of communication processes, FANOUT children for the front
//                           end and for each of them, down to FANOUT^DEPTH internal leaves
//   binomial:ORDER          a binomial tree of 2^ORDER nodes, the front end included; `binomial`
//                           alone is the smallest whose internal leaves have <= 16 back ends each
//   file:PATH               a topology file (docs/topology-format.md), which names the hosts too
//   PATH                    the same, if such a file exists and it is none of the words above

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
  std::uint32_t fanout = kDefaultFanout;  ///< kKary: K >= 2. kBalanced: >= 1.
  std::uint32_t depth = 0;                ///< kBalanced: >= 1. kBinomial: the order; 0: as needed.
  std::string path;                       ///< kFile.

  bool operator==(const Shape&) const = default;
};

/// Parses a shape; see the list above. Only for a text that is no other shape, it checks whether a
/// file of that name exists. It never opens the file.
///
/// Fails with kInvalidArgument (not a shape, a number out of range, a tree of more than
/// kMaxCommProcesses) or kNotFound (it looks like a path and no such file exists); the sentence
/// quotes the text and lists the valid forms.
Result<Shape> parse_shape(std::string_view text);

/// The text that parse_shape reads back as the same shape, with defaults written out: "kary:16".
std::string to_text(const Shape& shape);

/// The tree of a shape for this number of back ends.
///
///   kary:2, 8 back ends    4 internal leaves, 2 nodes above them, the front end: 6 communication
///                          processes
///   kary:16, <= 16         the front end alone: ceil(n / K) = 1 is the front end itself
///   kary:8, 65             9 internal leaves, 2 nodes above them with 5 and 4 children
///
/// A level's nodes are split over the level above in unbroken runs that differ by at most one, the
/// longer ones first. balanced and binomial:ORDER do not depend on the number of back ends.
///
/// Fails with kInvalidArgument for kFile (a file holds its own tree, see topology_text.h), for
/// fields out of the ranges above, and when the tree would exceed kMaxCommProcesses.
Result<Skeleton> grow(const Shape& shape, std::size_t back_ends);

}  // namespace xylem::tree
