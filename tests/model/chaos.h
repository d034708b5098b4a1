#pragma once

// One run of a random tree under random faults, and what came of it.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace xylem::model {

/// A rule of the overlay that is broken on purpose, to show that the model finds it.
enum class Break {
  kNone,
  kNoDedupe,         ///< The store takes what it has already.
  kAckBeforeCommit,  ///< Acknowledged while it is not durable.
  kNoResend,         ///< What is sent again does not leave the leaf.
  kMergeOverlap,     ///< Communication processes merge packets of the same source.
  kForgetTombstone,  ///< A tombstone is acknowledged and not kept.
  kNoEpoch,          ///< A front end that was replaced may still commit.
};

/// "no-dedupe" and so on; "" is kNone. Fails with kInvalidArgument, naming those that there are.
Result<Break> parse_break(std::string_view name);

struct ChaosOptions {
  std::uint64_t seed = 0;
  Break broken = Break::kNone;
  bool tells = false;  ///< Each fault on standard error, with its time.
};

struct ChaosOutcome {
  std::uint64_t seed = 0;
  std::uint64_t faults = 0;
  std::uint64_t waves = 0;     ///< Contributions of leaves.
  std::uint64_t given_up = 0;  ///< Of them, those that are in the ledger of losses.
  std::uint64_t lost = 0;
  std::uint64_t twice = 0;
  std::uint64_t digest = 0;
  std::uint64_t steps = 0;
  std::string fault;  ///< The first wrong thing, for people; empty when all is right.

  bool is_right() const { return lost == 0 && twice == 0 && fault.empty(); }
};

/// Runs it. The same options give the same outcome.
ChaosOutcome run_chaos(const ChaosOptions& options);

/// "chaos: seed=S faults=N waves=W lost=0 twice=0 digest=H", and the first fault when there is one.
std::string to_line(const ChaosOutcome& outcome);

}  // namespace xylem::model
