#pragma once

// The shares of one multicast: what the node directly above leaves sends to each of them, when it
// passes the multicast on and when it replays it.

#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "filters/narrowing.h"
#include "wire/fields.h"
#include "wire/multicast.h"

namespace xylem::filters {

/// A stream's narrowing as a node has it: null when the stream has none; an error when this node
/// has refused it.
using NodeNarrowing = Result<std::shared_ptr<const Narrowing>>;

/// For one multicast; what must be decoded of it is decoded once, when it is first needed. Borrows
/// both arguments of the constructor. Not thread-safe.
class MulticastCut {
 public:
  /// `whole` must not be cut already: its share is kWhole.
  MulticastCut(const NodeNarrowing& narrowing, const wire::Multicast& whole)
      : narrowing_(narrowing), whole_(whole) {}

  /// What to send to that leaf; nothing when it is not of the stream. The whole one where every
  /// leaf gets all; else a share for it alone, in a frame that says so:
  ///   kPart     its part
  ///   kNothing  it is not among those for whom the multicast is, or the narrowing gives nothing
  ///   kFailed   there is a narrowing, and it failed here, or this node has refused it, or the part
  ///             exceeds a frame: see failure()
  std::optional<wire::Multicast> for_leaf(LeafId leaf);

  /// Why a share was kFailed the last time; nothing when none was.
  const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  Result<std::optional<wire::Fields>> narrow(LeafId leaf);

  const NodeNarrowing& narrowing_;
  const wire::Multicast& whole_;
  std::optional<Result<wire::Fields>> sent_;
  std::optional<Error> failure_;
};

}  // namespace xylem::filters
