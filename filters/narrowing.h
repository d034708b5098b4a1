#pragma once

// The part of a multicast that each leaf gets on the way down.
//
//   front end:               what the user sends, whole  ->  every node above leaves
//   directly above a leaf:   narrow(the leaf's place, what was sent)  ->  what that leaf receives
//
// A multicast has one number for all leaves, and the nodes on the way keep it whole. A leaf's part
// depends only on the sent fields and on the leaf's place. It does not depend on the tree or on
// lost parents.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "filters/aggregation.h"
#include "wire/fields.h"

namespace xylem::filters {

/// A leaf's position among the recipients of a multicast. The front end writes the recipients into
/// the multicast when it sends it. The recipients are the leaves that the sender named. If it named
/// none, they are the stream's leaves that have joined by then and have neither left nor been lost.
/// So the place is the same on every node and at every replay. A leaf that joins or comes back
/// later receives nothing of this multicast; the part of a leaf that leaves later is lost. When
/// leaves come and go, places change from one multicast to the next, unless the sender names the
/// leaves at each send.
struct Place {
  LeafId leaf{};
  std::size_t position = 0;  ///< Counted from 0 in the order of leaf ids; less than `count`.
  std::size_t count = 1;     ///< Number of recipients.
};

/// A stateless function: threads may call it concurrently. Equal arguments must give equal results
/// on every node, because a replay narrows the sent fields again.
class Narrowing {
 public:
  Narrowing() = default;
  Narrowing(const Narrowing&) = delete;
  Narrowing& operator=(const Narrowing&) = delete;
  virtual ~Narrowing() = default;

  /// Returns the leaf's part. nullopt: the leaf does not see the multicast and has no gap. Fails
  /// with kInvalidArgument if the fields are invalid; the message names the narrowing, the field
  /// and what the narrowing accepts. Before sending, the front end calls it for the first leaf, so
  /// that the sender gets an error at once. If it fails later for a leaf, this leaf misses the
  /// multicast, and the front end gets a report with the node and the reason.
  virtual Result<std::optional<wire::Fields>> narrow(const Place& place,
                                                     const wire::Fields& sent) const = 0;
};

/// Makes a built-in narrowing by its name: "scatter" (scatter.h). Fails like make_aggregation().
Result<std::shared_ptr<const Narrowing>> make_narrowing(const std::string& name,
                                                        const wire::Fields& parameters);

/// Makes a narrowing of a shared object (filters/plugin.h). Works and fails like
/// load_aggregation(). A plugin with ABI version 1 has no narrowings.
Result<std::shared_ptr<const Narrowing>> load_narrowing(const std::string& path,
                                                        const Sha256& sha256,
                                                        const std::string& name,
                                                        const wire::Fields& parameters);

}  // namespace xylem::filters
