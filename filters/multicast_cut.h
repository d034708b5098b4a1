#pragma once

// The shares of one multicast: a node directly above leaves sends one to each leaf, both when it
// passes the multicast on and when it replays it.

#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "filters/narrowing.h"
#include "wire/fields.h"
#include "wire/multicast.h"

namespace xylem::filters {

/// A stream's narrowing on a node: null when the stream has none; an error when this node refused
/// it.
using NodeNarrowing = Result<std::shared_ptr<const Narrowing>>;

/// Cuts one multicast. It decodes the payload at most once, when first needed. Borrows both
/// arguments of the constructor. Not thread-safe.
class MulticastCut {
 public:
  /// `whole` must be uncut: its share is kWhole.
  MulticastCut(const NodeNarrowing& narrowing, const wire::Multicast& whole)
      : narrowing_(narrowing), whole_(whole) {}

  /// The message for that leaf; nothing when the leaf is not in the stream. It is the whole
  /// multicast if every leaf gets all of it; else the leaf's own share:
  ///   kPart     its part
  ///   kNothing  the leaf is not a recipient, or the narrowing gives it nothing
  ///   kFailed   the narrowing failed, or this node refused it, or the part exceeds a frame: see
  ///             failure()
  std::optional<wire::Multicast> for_leaf(LeafId leaf);

  /// The reason of the last kFailed; nothing if there was none.
  const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  Result<std::optional<wire::Fields>> narrow(LeafId leaf);

  const NodeNarrowing& narrowing_;
  const wire::Multicast& whole_;
  std::optional<Result<wire::Fields>> sent_;
  std::optional<Error> failure_;
};

}  // namespace xylem::filters
