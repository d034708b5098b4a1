#pragma once

// Routes acknowledgements: remembers which leaves are below each link. A value type: it never
// touches a link.

#include <cstdint>
#include <map>
#include <vector>

#include "base/interval_set.h"
#include "overlay/node.h"
#include "wire/message.h"

namespace xylem::overlay {

/// The children of a node and the leaves below each child. Not thread-safe.
class Router {
 public:
  /// Replaces the set of leaves below a child.
  void set_leaves(LinkId child, const wire::LeafSet& leaves);
  /// Removes a child. Leaves that have ended below this child still count as ended, because they
  /// send nothing more.
  void remove_living(LinkId child);
  /// Returns the leaves below one child.
  IntervalSet leaves_of(LinkId child) const;

  /// Returns all leaves below this node, and the subset that has ended. Both contain the leaves
  /// that ended below removed children. A leaf that is back below another child has not ended.
  wire::LeafSet below() const;
  /// Returns the leaves below this node that have not ended.
  IntervalSet expected() const;

  /// Splits an acknowledgement into one for each child. Each packet goes to every child that has at
  /// least one of the packet's sources below it. The id for a child names only the sources below
  /// this child. Sources that are below no child are left out; these leaves will send again. The
  /// time usually depends on the number of parts, not on the number of children.
  std::map<LinkId, wire::Acknowledgement> split(const wire::Acknowledgement& all);

 private:
  struct Run {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    LinkId link{};
  };
  void make_index();
  std::map<LinkId, IntervalSet> children_with(const IntervalSet& sources) const;

  std::map<LinkId, wire::LeafSet> children_;
  std::vector<Run> index_;    // Finds the child of a leaf; valid only if `is_indexed_`.
  std::uint64_t widest_ = 0;  // Length of the longest run in `index_`.
  bool is_indexed_ = false;
  IntervalSet ended_below_former_;  // Leaves that ended below removed children.
};

}  // namespace xylem::overlay
