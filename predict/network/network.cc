#include "predict/network/network.h"

#include <algorithm>

#include "base/check.h"
#include "base/ids.h"
#include "base/saturating.h"

namespace xylem::predict {

void Network::count(ChannelId channel, std::uint64_t bytes, Ticks transfer) {
  ChannelTraffic& traffic = traffic_[raw(channel)];
  ++traffic.messages;
  traffic.bytes = saturating_add(traffic.bytes, bytes);
  traffic.busy = std::min(saturating_add(traffic.busy, transfer), kMaxTicks);
}

LogGpsNetwork::LogGpsNetwork(const FabricCosts& costs, const Topology* topology)
    : Network(topology == nullptr ? 0 : topology->channels()), costs_(costs), topology_(topology) {}

Network::Step LogGpsNetwork::send(Node source, Node destination, std::uint64_t bytes, Ticks now) {
  if (topology_ != nullptr) {
    topology_->find_path(source, destination, path_);
    for (const ChannelId it : path_) count(it, bytes, costs_.transfer(bytes));
  }
  return {now + costs_.ends().latency(), true, 0};
}

Network::Step LogGpsNetwork::go_on(std::uint32_t /*message*/, Ticks now) { return {now, true, 0}; }

AnalyticNetwork::AnalyticNetwork(const FabricCosts& costs, const Topology& topology,
                                 std::span<const ChannelLoad> loads)
    : Network(topology.channels()),
      costs_(costs),
      topology_(topology),
      loads_(loads.begin(), loads.end()) {
  CHECK(loads_.size() == topology.channels());
}

Network::Step AnalyticNetwork::send(Node source, Node destination, std::uint64_t bytes, Ticks now) {
  topology_.find_path(source, destination, path_);
  on_path_.clear();
  for (const ChannelId it : path_) {
    count(it, bytes, costs_.transfer(bytes));
    on_path_.push_back(loads_[raw(it)]);
  }
  auto delay = mean_delay(costs_, std::span(on_path_).subspan(1), bytes);
  CHECK(delay);
  delay->transfer = costs_.slower_than_receiver(bytes);
  const std::uint64_t pair = std::uint64_t{raw(source)} << 32 | raw(destination);
  Ticks& last = last_arrival_[pair];
  last = std::max(last, now + delay->total());
  return {last, true, 0};
}

Network::Step AnalyticNetwork::go_on(std::uint32_t /*message*/, Ticks now) {
  return {now, true, 0};
}

}  // namespace xylem::predict
