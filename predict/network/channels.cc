#include "predict/network/channels.h"

#include <algorithm>

#include "base/ids.h"

namespace xylem::predict {

ChannelNetwork::ChannelNetwork(const FabricCosts& costs, const Topology& topology)
    : Network(topology.channels()),
      costs_(costs),
      topology_(topology),
      free_(topology.channels()) {}

Network::Step ChannelNetwork::send(Node source, Node destination, std::uint64_t bytes, Ticks now) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(messages_.size()));
    messages_.emplace_back();
  }
  const std::uint32_t message = unused_.back();
  unused_.pop_back();
  Message& made = messages_[message];
  topology_.find_path(source, destination, made.path);
  made.next = 0;
  made.bytes = bytes;
  made.transfer = costs_.transfer(bytes);
  made.header = costs_.header(made.transfer);
  return take(message, std::max(now, free_[raw(made.path[0])]));
}

Network::Step ChannelNetwork::go_on(std::uint32_t message, Ticks now) {
  Message& it = messages_[message];
  const Ticks free = free_[raw(it.path[it.next])];
  // Whoever stands in the queue has moved `free` to the end of its own transfer.
  if (!it.is_stored && free > now) {
    it.is_stored = true;
    return {std::min(now + it.transfer - it.header, kMaxTicks), false, message};
  }
  it.is_stored = false;
  return take(message, std::max(now, free));
}

/// Takes the next channel at `start`, and names the time at which the header asks for another one.
Network::Step ChannelNetwork::take(std::uint32_t message, Ticks start) {
  Message& it = messages_[message];
  const ChannelId channel = it.path[it.next++];
  free_[raw(channel)] = std::min(start + it.transfer, kMaxTicks);
  count(channel, it.bytes, it.transfer);
  if (it.next < it.path.size()) {
    const Ticks asks = std::min(start + it.header, kMaxTicks) + costs_.switch_time();
    return {std::min(asks, kMaxTicks), false, message};
  }
  unused_.push_back(message);
  return {std::min(start + costs_.slower_than_receiver(it.bytes), kMaxTicks), true, message};
}

}  // namespace xylem::predict
