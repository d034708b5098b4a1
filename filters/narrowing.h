#pragma once

// The part of a multicast that each leaf gets on the way down.
//
//   front end:               what the user sends, whole  ->  every node above leaves
//   directly above a leaf:   narrow(the leaf's place, what was sent)  ->  what that leaf receives
//
// A multicast has one number for all leaves, and the nodes on the way keep it whole. So a leaf's
// part is a function of the sent fields and of the leaf's place. It does not depend on the tree or
// on lost parents.

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
/// the multicast when it sends it: the leaves that the sender named, else the stream's leaves that
/// have joined by then and have neither left nor been lost. So the place is the same on every node
/// and at every replay. A leaf that joins or comes back later receives nothing of it; the part of a
/// leaf that leaves later is lost. When leaves come and go, places shift from one multicast to the
/// next, unless the sender names the leaves at each send.
struct Place {
  LeafId leaf{};
  std::size_t position = 0;  ///< From 0, in the order of leaf ids; less than `count`.
  std::size_t count = 1;     ///< Number of recipients.
};

/// A stateless function: threads may call it concurrently. Equal arguments must give equal results
/// on every node, because a replay is narrowed again from the sent fields.
class Narrowing {
 public:
  Narrowing() = default;
  Narrowing(const Narrowing&) = delete;
  Narrowing& operator=(const Narrowing&) = delete;
  virtual ~Narrowing() = default;

  /// The leaf's part. Nothing: the leaf does not see the multicast and has no gap. Fails with
  /// kInvalidArgument when the fields are invalid; the sentence names the narrowing, the field and
  /// what it accepts. The front end calls it for the first leaf before it sends, so that the sender
  /// gets the error at once. If it fails later, the leaf has missed the multicast, and the front
  /// end learns the node and the reason.
  virtual Result<std::optional<wire::Fields>> narrow(const Place& place,
                                                     const wire::Fields& sent) const = 0;
};

/// A built-in by its name: "scatter" (scatter.h). Fails as make_aggregation().
Result<std::shared_ptr<const Narrowing>> make_narrowing(const std::string& name,
                                                        const wire::Fields& parameters);

/// A narrowing of a shared object (filters/plugin.h). Works and fails as load_aggregation(). A
/// plugin with ABI version 1 has no narrowings.
Result<std::shared_ptr<const Narrowing>> load_narrowing(const std::string& path,
                                                        const Sha256& sha256,
                                                        const std::string& name,
                                                        const wire::Fields& parameters);

}  // namespace xylem::filters
