#pragma once

// The shares of one multicast. A node directly above leaves sends one share to each leaf: when it
// forwards the multicast, and when it replays the multicast to a new child.

#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "filters/narrowing.h"
#include "wire/fields.h"
#include "wire/multicast.h"

namespace xylem::filters {

/// A stream's narrowing on a node. It is null if the stream has no narrowing, and an error if this
/// node could not make the narrowing. Shared, see Narrowing.
using NodeNarrowing = Result<std::shared_ptr<const Narrowing>>;

/// Cuts one multicast into shares. The payload is decoded at most once, when it is first needed.
/// Borrows both arguments of the constructor. Not thread-safe.
class MulticastCut {
 public:
  /// `whole` must have the share kWhole.
  MulticastCut(const NodeNarrowing& narrowing, const wire::Multicast& whole)
      : narrowing_(narrowing), whole_(whole) {}

  /// Returns the message for a leaf; nullopt if the leaf is not in the stream. If the stream has no
  /// narrowing and the multicast names no recipients, the message is the whole multicast. Otherwise
  /// the message has one of these shares:
  ///   kPart     the leaf's part; without a narrowing, the whole payload
  ///   kNothing  the leaf is not a recipient, or the narrowing gives it nothing
  ///   kFailed   the narrowing failed, or this node could not make the narrowing, or the payload
  ///             cannot be decoded, or the part is too large for a frame; see failure()
  std::optional<wire::Multicast> for_leaf(LeafId leaf);

  /// Returns the reason of the last kFailed; nullopt if no share has failed.
  const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  Result<std::optional<wire::Fields>> narrow(LeafId leaf);

  const NodeNarrowing& narrowing_;
  const wire::Multicast& whole_;
  std::optional<Result<wire::Fields>> sent_;
  std::optional<Error> failure_;
};

}  // namespace xylem::filters
