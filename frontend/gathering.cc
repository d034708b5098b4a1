#include "frontend/gathering.h"

#include <algorithm>

namespace xylem::frontend {

const Section<GatheringOptions>& gathering_section() {
  static const Section<GatheringOptions> kSection = {
      duration_option("settle", &GatheringOptions::settle, 0, 600 * kSecond, "at most 10 minutes",
                      "Build the tree at most this long after the last host or process joins"),
  };
  return kSection;
}

void Gathering::host_joined(LeafId leaf, Nanos now) {
  if (processes_by_leaf_.try_emplace(leaf).second) last_newcomer_ = now;
}

void Gathering::process_seen(LeafId leaf, const wire::ProcessRow& process, Nanos now) {
  if (processes_by_leaf_[leaf].insert(process.lane).second) last_newcomer_ = now;
  if (!process.unwatched.empty()) unwatched_[{leaf, process.lane}] = process.unwatched;
  if (!process.initialised) return;
  World& world = worlds_[process.world_key];
  // A rank that cannot be watched may not know the size of its world. It then reports its own
  // number + 1 as the size.
  world.size = std::max(world.size, process.world_size);
  if (world.ranks.insert(process.rank).second) last_newcomer_ = now;
}

bool Gathering::worlds_complete() const {
  return !worlds_.empty() && std::all_of(worlds_.begin(), worlds_.end(), [](const auto& entry) {
    return entry.second.ranks.size() >= entry.second.size;
  });
}

bool Gathering::complete(Nanos now) const {
  if (options_.expected != 0) return processes_by_leaf_.size() >= options_.expected;
  return anyone() && (worlds_complete() || now >= complete_at());
}

Nanos Gathering::complete_at() const noexcept {
  return anyone() && options_.expected == 0 ? last_newcomer_ + options_.settle : kForever;
}

std::string Gathering::missing_ranks() const {
  for (const auto& [key, world] : worlds_) {
    if (world.ranks.size() >= world.size) continue;
    return std::to_string(world.ranks.size()) + " of " + std::to_string(world.size) +
           " ranks of a world were seen: were the others preloaded, and do their hosts reach the "
           "front end (--interface)?";
  }
  return {};
}

std::string Gathering::unwatched_ranks() const {
  if (unwatched_.empty()) return {};
  const std::size_t count = unwatched_.size();
  return std::to_string(count) + (count == 1 ? " rank is" : " ranks are") +
         " not watched: " + unwatched_.begin()->second;
}

std::size_t Gathering::processes_on(LeafId leaf) const {
  const auto it = processes_by_leaf_.find(leaf);
  return it == processes_by_leaf_.end() ? 0 : it->second.size();
}

std::size_t Gathering::ranks() const {
  std::size_t sum = 0;
  for (const auto& [key, world] : worlds_) sum += world.ranks.size();
  return sum;
}

}  // namespace xylem::frontend
