#pragma once

// What each leaf gets of a multicast on its way down.
//
//   front end:               what the user sends, whole  ->  every node above leaves
//   directly above a leaf:   narrow(the leaf's place, what was sent)  ->  what that leaf receives
//
// A multicast has one number for all leaves and is kept whole by the nodes on the way, so what a
// leaf receives does not depend on the tree, nor on how often a parent died: it is a function of
// what was sent and of the leaf's place.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "filters/aggregation.h"
#include "wire/fields.h"

namespace xylem::filters {

/// A leaf among those for whom a multicast is. The front end writes these leaves into the multicast
/// when it sends it: those that it was told to send to; else those of the stream that have joined
/// by then and have neither left nor been lost. So the place is the same on every node and at every
/// replay. Who joins, or is found again, afterwards has no place in it and receives nothing of it;
/// the part of one that leaves afterwards is lost with it. From one multicast to the next places
/// shift when leaves come and go; naming the leaves at each send keeps them.
struct Place {
  LeafId leaf{};
  std::size_t position = 0;  ///< From 0, in the order of leaf ids; less than `count`.
  std::size_t count = 1;     ///< Of the leaves for whom the multicast is.
};

/// A function without state: any thread may call, all at once. Equal arguments give equal results
/// on every node: a replay is narrowed anew, from what was sent.
class Narrowing {
 public:
  Narrowing() = default;
  Narrowing(const Narrowing&) = delete;
  Narrowing& operator=(const Narrowing&) = delete;
  virtual ~Narrowing() = default;

  /// Nothing: that leaf does not see the multicast, and misses none. Fails with kInvalidArgument
  /// when the fields are not what it takes: which narrowing, which field, what it takes. The front
  /// end calls it for the first leaf before it sends, so that the sender is told at once; where it
  /// fails later, that leaf has missed the multicast, and the front end is told by which node, and
  /// why.
  virtual Result<std::optional<wire::Fields>> narrow(const Place& place,
                                                     const wire::Fields& sent) const = 0;
};

/// A built-in by its name: "scatter" (scatter.h). Fails as make_aggregation().
Result<std::shared_ptr<const Narrowing>> make_narrowing(const std::string& name,
                                                        const wire::Fields& parameters);

/// One of a shared object (filters/plugin.h). As load_aggregation(), and it fails as that does; a
/// plugin of version 1 of the interface has no narrowings.
Result<std::shared_ptr<const Narrowing>> load_narrowing(const std::string& path,
                                                        const Sha256& sha256,
                                                        const std::string& name,
                                                        const wire::Fields& parameters);

}  // namespace xylem::filters
