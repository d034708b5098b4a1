#pragma once

// What goes down a tool's stream under random faults: the nodes of the tools' tree, the very code,
// in a Simulation.

#include <cstdint>
#include <string>

namespace xylem::model {

/// A rule that is broken on purpose, to show that the model finds it.
enum class MulticastBreak {
  kNone,
  kNoReplay,     ///< Nodes do not tell a new child what went down before.
  kNoGapReport,  ///< What a leaf tells of what it missed does not leave it.
};

struct MulticastOptions {
  std::uint64_t seed = 0;
  MulticastBreak broken = MulticastBreak::kNone;
};

struct MulticastOutcome {
  std::uint64_t seed = 0;
  std::uint64_t faults = 0;
  std::uint64_t sent = 0;    ///< Multicasts, times the leaves for whom they were.
  std::uint64_t missed = 0;  ///< Of them, those that the front end was told a leaf has missed.
  std::uint64_t lost = 0;    ///< Neither seen by a leaf, nor told as missed.
  std::uint64_t twice = 0;   ///< Seen more than once, out of order, or seen and told as missed.
  std::uint64_t wrong = 0;   ///< Seen by a leaf for which it was not, or another part than its own.
  std::uint64_t digest = 0;
  std::string fault;  ///< The first wrong thing, for people; empty when all is right.

  bool is_right() const { return lost == 0 && twice == 0 && wrong == 0 && fault.empty(); }
};

/// Runs one random tree and its faults, with a stream of all leaves or of some, whose multicasts
/// are the same for all or scattered, and go to all of these leaves or to some: killed
/// communication processes, links that break, hosts cut off, nodes that freeze, a slow network.
/// Leaves and front end live on. In half of the runs all that was sent fits into what nodes keep
/// for new children: then nothing may be missed either. The same options give the same outcome.
MulticastOutcome run_multicast(const MulticastOptions& options);

/// "chaos: multicast seed=S faults=N sent=W missed=M lost=0 twice=0 wrong=0 digest=H", and the
/// first fault.
std::string to_line(const MulticastOutcome& outcome);

}  // namespace xylem::model
