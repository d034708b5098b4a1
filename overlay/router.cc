#include "overlay/router.h"

#include <algorithm>
#include <utility>

namespace xylem::overlay {

void Router::set_leaves(LinkId child, const wire::LeafSet& leaves) {
  children_[child] = leaves;
  is_indexed_ = false;
}

void Router::remove_living(LinkId child) {
  const auto it = children_.find(child);
  if (it == children_.end()) return;
  ended_below_former_.insert(it->second.ended);
  children_.erase(it);
  is_indexed_ = false;
}

IntervalSet Router::leaves_of(LinkId child) const {
  const auto it = children_.find(child);
  return it == children_.end() ? IntervalSet() : it->second.leaves;
}

wire::LeafSet Router::below() const {
  wire::LeafSet all;
  all.leaves = ended_below_former_;
  all.ended = ended_below_former_;
  for (const auto& [link, set] : children_) {
    all.leaves.insert(set.leaves);
    all.ended.insert(set.ended);
  }
  // A leaf that came back after it had ended (a new agent on its host) sends again.
  for (const auto& [link, set] : children_) {
    const IntervalSet living = set.leaves.difference(set.ended);
    for (const auto& run : living.intervals()) all.ended.erase(run.first, run.end);
  }
  return all;
}

IntervalSet Router::expected() const {
  const wire::LeafSet all = below();
  return all.leaves.difference(all.ended);
}

// Sorts the runs of leaves of all children by their first leaf. Two children may have the same leaf
// while this leaf moves.
void Router::make_index() {
  index_.clear();
  widest_ = 0;
  for (const auto& [link, set] : children_) {
    for (const auto& run : set.leaves.intervals()) {
      index_.push_back({run.first, run.end, link});
      widest_ = std::max(widest_, run.end - run.first);
    }
  }
  std::sort(index_.begin(), index_.end(),
            [](const Run& a, const Run& b) { return a.first < b.first; });
  is_indexed_ = true;
}

std::map<LinkId, IntervalSet> Router::children_with(const IntervalSet& sources) const {
  std::map<LinkId, IntervalSet> found;
  for (const auto& run : sources.intervals()) {
    const std::uint64_t from = run.first - std::min(run.first, widest_);
    auto it = std::lower_bound(index_.begin(), index_.end(), from,
                               [](const Run& at, std::uint64_t first) { return at.first < first; });
    for (; it != index_.end() && it->first < run.end; ++it) {
      const std::uint64_t first = std::max(it->first, run.first);
      const std::uint64_t end = std::min(it->end, run.end);
      if (first < end) found[it->link].insert(first, end);
    }
  }
  return found;
}

std::map<LinkId, wire::Acknowledgement> Router::split(const wire::Acknowledgement& all) {
  if (!is_indexed_) make_index();
  std::map<LinkId, wire::Acknowledgement> parts;
  for (const auto list : {&wire::Acknowledgement::stored, &wire::Acknowledgement::resend}) {
    for (const wire::PacketId& packet : all.*list) {
      for (auto& [link, sources] : children_with(packet.sources)) {
        wire::PacketId& part = (parts[link].*list).emplace_back(packet);
        part.sources = std::move(sources);
      }
    }
  }
  return parts;
}

}  // namespace xylem::overlay
