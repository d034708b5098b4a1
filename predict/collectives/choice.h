#pragma once

// Which algorithm an MPI library takes for a call.
//
// - MPICH 4.0.2: the choices that its library contains as JSON, as for a communicator with one rank
//   on each node, without the variants that share memory inside a node. Reductions are commutative
//   and have operators of MPI. Its ring for allgatherv sends a large block in pieces of 32 KiB;
//   here a block is one message.
// - Open MPI 4.1.4: the fixed decisions of coll/tuned, which it takes unless told otherwise, for
//   commutative operators. Its messages are not cut into segments there. Where it has an algorithm
//   that is not in schedule.h, the table takes the nearest one: chain for pipeline and for two
//   chains, binary_tree for split-binary and in-order binary tree, linear for its variants with
//   other orders of the messages, recursive_halving for butterfly, and for recursive doubling in
//   reduce_scatter_block. Its trees number the ranks differently. Its Rabenseifner allreduce sends
//   two more messages, and half a vector more, for each rank above a power of two.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "predict/collectives/collective.h"

namespace xylem::predict {

enum class MpiLibrary : std::uint8_t { kMpich, kOpenMpi };

/// A library, and algorithms that are fixed. The default is MPICH without fixed ones.
class CollectiveChoice {
 public:
  CollectiveChoice() = default;
  explicit CollectiveChoice(MpiLibrary library) : library_(library) {}

  void set_library(MpiLibrary library) { library_ = library; }

  /// Takes `algorithm` for every call of `collective`. It is one of algorithms_for().
  void fix(Collective collective, Algorithm algorithm);

  /// The algorithm for a call of `ranks` ranks: the fixed one, else that of the library. Depends
  /// only on what is equal at all ranks.
  Algorithm choose(const CollectiveCall& call, std::uint32_t ranks) const;

  bool operator==(const CollectiveChoice&) const = default;

 private:
  MpiLibrary library_ = MpiLibrary::kMpich;
  std::array<std::optional<Algorithm>, kCollectives> fixed_{};
};

/// Maximum of CollectiveModel::reduce_fs_per_byte: 1 ms.
constexpr std::uint64_t kMaxReduceFsPerByte = 1'000'000'000'000;

/// How a machine does collective calls.
struct CollectiveModel {
  CollectiveChoice choice;
  /// Time to reduce a byte with another one, in millionths of a nanosecond. At most
  /// kMaxReduceFsPerByte.
  std::uint64_t reduce_fs_per_byte = 0;

  bool operator==(const CollectiveModel&) const = default;
};

}  // namespace xylem::predict
