#pragma once

// Runs a random tree under random faults, and returns the outcome.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace xylem::model {

/// A rule of the overlay that is broken on purpose, to show that the model detects it.
enum class Break {
  kNone,
  kNoDedupe,         ///< The store accepts duplicates.
  kAckBeforeCommit,  ///< Packets are acknowledged before they are committed.
  kNoResend,         ///< A leaf never resends packets.
  kMergeOverlap,     ///< Communication processes merge packets of the same source.
  kForgetTombstone,  ///< A tombstone is acknowledged and not kept.
  kNoEpoch,          ///< A front end that has been replaced may still commit.
};

/// Parses "no-dedupe" and so on; "" is kNone. Fails with kInvalidArgument and a message that lists
/// the names.
Result<Break> parse_break(std::string_view name);

struct ChaosOptions {
  std::uint64_t seed = 0;
  Break broken = Break::kNone;
  bool tells = false;  ///< Print each fault with its time to standard error.
};

struct ChaosOutcome {
  std::uint64_t seed = 0;
  std::uint64_t faults = 0;
  std::uint64_t waves = 0;     ///< Contributions of leaves.
  std::uint64_t given_up = 0;  ///< Contributions that the store has as losses.
  std::uint64_t lost = 0;
  std::uint64_t twice = 0;
  std::uint64_t digest = 0;
  std::uint64_t steps = 0;
  std::string fault;  ///< The first mistake, for people; empty if there is none.

  bool is_right() const { return lost == 0 && twice == 0 && fault.empty(); }
};

/// Runs the tree. The same options give the same outcome.
ChaosOutcome run_chaos(const ChaosOptions& options);

/// "chaos: seed=S faults=N waves=W lost=0 twice=0 digest=H", and the first fault if there is one.
std::string to_line(const ChaosOutcome& outcome);

}  // namespace xylem::model
