#pragma once

// Multicasts of a tool's stream under random faults. The nodes of the tree are those of the
// product, in a Simulation.

#include <cstdint>
#include <string>

namespace xylem::model {

/// A rule that is broken on purpose, to show that the model detects it.
enum class MulticastBreak {
  kNone,
  kNoReplay,     ///< Nodes do not send earlier multicasts to a new child.
  kNoGapReport,  ///< A leaf never reports the multicasts that it has missed.
};

struct MulticastOptions {
  std::uint64_t seed = 0;
  MulticastBreak broken = MulticastBreak::kNone;
};

struct MulticastOutcome {
  std::uint64_t seed = 0;
  std::uint64_t faults = 0;
  std::uint64_t sent = 0;    ///< Number of multicasts, counted once for each recipient.
  std::uint64_t missed = 0;  ///< The part of `sent` that was reported to the front end as missed.
  std::uint64_t lost = 0;    ///< Neither seen by the recipient nor reported as missed.
  /// Seen more than once, seen out of order, or seen and also reported as missed.
  std::uint64_t twice = 0;
  /// Seen by a leaf that is not a recipient, or seen with another leaf's part.
  std::uint64_t wrong = 0;
  std::uint64_t digest = 0;
  std::string fault;  ///< The first mistake, for people; empty if there is none.

  bool is_right() const { return lost == 0 && twice == 0 && wrong == 0 && fault.empty(); }
};

/// Runs one random tree with faults. The stream has all leaves or some; its multicasts are whole or
/// scattered, and go to all leaves of the stream or to some. Faults are: killed communication
/// processes, links that break, hosts that are cut off, nodes that freeze, a slow network. Leaves
/// and the front end are never killed. In half of the runs all multicasts fit into the memory that
/// nodes have for new children; then none may be missed. The same options give the same outcome.
MulticastOutcome run_multicast(const MulticastOptions& options);

/// "chaos: multicast seed=S faults=N sent=W missed=M lost=0 twice=0 wrong=0 digest=H", and the
/// first fault.
std::string to_line(const MulticastOutcome& outcome);

}  // namespace xylem::model
