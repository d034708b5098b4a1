#include "overlay/recent_multicasts.h"

#include <algorithm>

namespace xylem::overlay {
namespace {

// An empty one costs memory too.
std::size_t cost_of(const wire::Multicast& multicast) {
  const std::size_t intervals =
      multicast.leaves.intervals().size() + multicast.to.intervals().size();
  return multicast.payload.size() + intervals * sizeof(IntervalSet::Interval) +
         sizeof(wire::Multicast);
}

}  // namespace

bool RecentMulticasts::keep(const wire::Multicast& multicast) {
  Stream& stream = streams_[multicast.stream];
  if (multicast.number <= stream.last) return false;
  stream.last = multicast.number;
  stream.recent.push_back(multicast);
  stream.bytes += cost_of(multicast);
  bytes_ += cost_of(multicast);
  while (stream.bytes > options_.stream_bytes) drop_oldest(stream);
  while (bytes_ > options_.all_bytes) drop_oldest(largest());
  return true;
}

RecentMulticasts::Stream& RecentMulticasts::largest() {
  const auto found = std::max_element(
      streams_.begin(), streams_.end(),
      [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
  return found->second;
}

void RecentMulticasts::drop_oldest(Stream& stream) {
  const std::size_t cost = cost_of(stream.recent.front());
  stream.recent.pop_front();
  stream.bytes -= cost;
  bytes_ -= cost;
}

void RecentMulticasts::forget(StreamId stream) {
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return;
  bytes_ -= it->second.bytes;
  streams_.erase(it);
}

std::vector<const wire::Multicast*> RecentMulticasts::all() const {
  std::vector<const wire::Multicast*> all;
  for (const auto& [id, stream] : streams_) {
    for (const wire::Multicast& multicast : stream.recent) all.push_back(&multicast);
  }
  return all;
}

std::vector<const wire::Multicast*> RecentMulticasts::new_to(const IntervalSet& leaves_before,
                                                             const IntervalSet& leaves_now) const {
  std::vector<const wire::Multicast*> missing = all();
  std::erase_if(missing, [&](const wire::Multicast* multicast) {
    return !multicast->leaves.intersects(leaves_now) || multicast->leaves.intersects(leaves_before);
  });
  return missing;
}

}  // namespace xylem::overlay
