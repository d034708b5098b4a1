#pragma once

// Narrowings: functions that compute a leaf's part of a multicast.
//
//   front end:               what the user sends, whole  ->  every node above leaves
//   directly above a leaf:   narrow(the leaf's place, what was sent)  ->  what that leaf receives
//
// A multicast has the same number for all leaves, and the nodes on the way keep the whole
// multicast. A leaf's part depends only on the sent fields and on the leaf's place. It does not
// depend on the tree or on lost parents.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "filters/aggregation.h"
#include "wire/fields.h"

namespace xylem::filters {

/// A leaf's position among the recipients of a multicast. The front end writes the list of
/// recipients into the multicast. So the place is the same on every node and in every replay.
///
/// The sender can name the recipients. If it names none, the recipients are all leaves of the
/// stream that have joined and are neither lost nor gone. A leaf that joins or comes back later
/// receives nothing of this multicast. If a recipient leaves later, its part is lost.
///
/// If leaves join or leave between two multicasts, places change. To avoid this, name the
/// recipients at each send.
struct Place {
  LeafId leaf{};
  std::size_t position = 0;  ///< Counted from 0 in the order of leaf ids; less than `count`.
  std::size_t count = 1;     ///< Number of recipients.
};

/// A narrowing. It has no mutable state: threads may call it concurrently. Equal arguments must
/// give equal results on every node, because a replay narrows the sent fields again. Several parts
/// of a process share one object, so it is always passed as a `shared_ptr`.
class Narrowing {
 public:
  Narrowing() = default;
  Narrowing(const Narrowing&) = delete;
  Narrowing& operator=(const Narrowing&) = delete;
  virtual ~Narrowing() = default;

  /// Returns the leaf's part; nullopt if the leaf gets nothing. Then the leaf does not receive the
  /// multicast, and this does not count as a gap.
  ///
  /// Fails with kInvalidArgument if the fields are invalid. The message names the narrowing, the
  /// field, and the values that the narrowing accepts. Before a multicast is sent, the front end
  /// calls narrow() for the first recipient. If this fails, the sender gets the error immediately.
  /// If narrow() fails later for a leaf, this leaf misses the multicast. The front end then gets a
  /// report with the node and the reason.
  virtual Result<std::optional<wire::Fields>> narrow(const Place& place,
                                                     const wire::Fields& sent) const = 0;
};

/// Makes a built-in narrowing by its name: "scatter" (scatter.h). Fails with kNotFound if the name
/// is unknown, and with kInvalidArgument if the parameters are invalid.
Result<std::shared_ptr<const Narrowing>> make_narrowing(const std::string& name,
                                                        const wire::Fields& parameters);

/// Makes a narrowing from a shared object. The file is loaded as load_aggregation() describes, with
/// the same failures. A plugin with ABI version 1 has no narrowings.
Result<std::shared_ptr<const Narrowing>> load_narrowing(const std::string& path,
                                                        const Sha256& sha256,
                                                        const std::string& name,
                                                        const wire::Fields& parameters);

}  // namespace xylem::filters
