#include "net/router.h"

namespace xylem::net {
namespace {

void split_list(const std::vector<wire::PacketId>& packets, const IntervalSet& leaves,
                std::vector<wire::PacketId>& part) {
  for (const wire::PacketId& packet : packets) {
    IntervalSet sources = packet.sources.intersection(leaves);
    if (sources.empty()) continue;
    wire::PacketId id = packet;
    id.sources = std::move(sources);
    part.push_back(std::move(id));
  }
}

}  // namespace

void Router::set_leaves(LinkId child, const wire::LeafSet& leaves) { children_[child] = leaves; }

void Router::remove_living(LinkId child) {
  const auto it = children_.find(child);
  if (it == children_.end()) return;
  ended_below_former_.insert(it->second.ended);
  children_.erase(it);
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

std::map<LinkId, wire::Acknowledgement> Router::split(const wire::Acknowledgement& all) const {
  std::map<LinkId, wire::Acknowledgement> parts;
  for (const auto& [link, set] : children_) {
    wire::Acknowledgement part;
    split_list(all.stored, set.leaves, part.stored);
    split_list(all.resend, set.leaves, part.resend);
    if (!part.stored.empty() || !part.resend.empty()) parts.emplace(link, std::move(part));
  }
  return parts;
}

}  // namespace xylem::net
