#pragma once

// Virtual cut-through, message by message: each channel serves one message after the other.
//
// - A message of s bytes keeps a channel busy for s/W from the moment at which it takes it.
// - It takes its first channel, the injection, when this channel is free; messages of one node go
//   in the order in which they were sent. Until then it lies in the node's memory.
// - Its header asks for the next channel when it has passed the channel before and the switch. That
//   is α s/W + τ after the message has taken the channel before.
// - If the next channel is free at this moment, the message takes it (cut-through).
// - If the channel is busy, or messages stand in its queue, the message is stored whole in the
//   switch. When its tail is there, (1-α) s/W later, it joins the channel's queue. The queue is
//   served in the order of joining, without gaps. The channel before is free as soon as the tail
//   has passed it, whether the message goes on or not: buffers of switches have no limit.
// - At the same time, the message that was sent first comes first. A channel is free from the time
//   on at which its last message has passed it.
//
// So a message in an idle network of n switches has passed its last channel after n τ + n α s/W +
// s/W. Each switch in which it is stored adds (1-α) s/W and the wait in the queue. This is equation
// (4) of SimHPC; analytic.h has its mean.
//
// P. Kermani, L. Kleinrock: Virtual cut-through: a new computer communication switching technique,
// Computer Networks 3 (1979).

#include <cstdint>
#include <vector>

#include "predict/network/network.h"

namespace xylem::predict {

/// Times are whole ticks, so the result depends on nothing but the messages. One call for each
/// channel of a path, and one more for each switch in which a message is stored. Needs 32 bytes for
/// each channel of the topology, and some 100 for each message under way.
class ChannelNetwork final : public Network {
 public:
  /// `topology` must outlive the network.
  ChannelNetwork(const FabricCosts& costs, const Topology& topology);
  Step send(Node source, Node destination, std::uint64_t bytes, Ticks now) override;
  Step go_on(std::uint32_t message, Ticks now) override;

 private:
  struct Message {
    std::vector<ChannelId> path;
    std::size_t next = 0;  ///< Index of the channel for which the message asks.
    std::uint64_t bytes = 0;
    Ticks transfer = 0;
    Ticks header = 0;
    bool is_stored = false;
  };

  Step take(std::uint32_t message, Ticks start);

  const FabricCosts costs_;
  const Topology& topology_;
  std::vector<Ticks> free_;  ///< For each channel: when it and its queue will be free.
  std::vector<Message> messages_;
  std::vector<std::uint32_t> unused_;  ///< Entries of messages_ that have arrived.
};

}  // namespace xylem::predict
