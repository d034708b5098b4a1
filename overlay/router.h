#pragma once

// Knows which leaves are below each link, to route acknowledgements. A value type: it never touches
// a link.

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
  /// Removes a child. Leaves below it that had ended still count as ended, because they send
  /// nothing more.
  void remove_living(LinkId child);
  /// The leaves below one child.
  IntervalSet leaves_of(LinkId child) const;

  /// Returns all leaves below, and the subset of them that has ended.
  wire::LeafSet below() const;
  /// Returns the leaves that are below and still send.
  IntervalSet expected() const;

  /// Splits an acknowledgement: each child gets the packets whose sources are below it, with only
  /// those sources. Sources below no child are left out; their leaf will send again. The time is
  /// proportional to the number of parts, not of children.
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
  std::vector<Run> index_;    // Index of children_; valid if is_indexed_.
  std::uint64_t widest_ = 0;  // Length of the longest run in index_.
  bool is_indexed_ = false;
  IntervalSet ended_below_former_;  // Leaves that ended below children that are gone.
};

}  // namespace xylem::overlay
