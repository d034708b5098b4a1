#pragma once

// The time that messages take between nodes. One interface for all models:
//
// - LogGpsNetwork: every message takes L (loggps.h).
// - AnalyticNetwork: the mean latency of the path under a given load (analytic.h).
// - ChannelNetwork: each channel serves one message after the other (channels.h).
//
// A network replaces L. The overheads o and O and the NIC's times g and G are paid at the ends in
// all models. From the moment at which a message arrives, the receiver takes its bytes in (s-1) G.
// So the time of a network ends when the last channel begins to carry the message. If the last
// channel is slower than the NIC, it ends later by the difference.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "predict/network/analytic.h"
#include "predict/network/fabric.h"
#include "predict/network/topology.h"

namespace xylem::predict {

/// What a channel has carried.
struct ChannelTraffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  Ticks busy = 0;  ///< Sum of the transfers. At most kMaxTicks.

  bool operator==(const ChannelTraffic&) const = default;
};

/// Carries the messages of one replay. Not thread-safe.
///
/// Calls of send() come in the order of their times, and calls of go_on() too. A message is sent by
/// send(). Until it has arrived, go_on() is called at the time that the last step has named. At the
/// same time, the message that was sent first comes first. Messages between the same two nodes
/// arrive in the order in which they were sent.
class Network {
 public:
  struct Step {
    Ticks time = 0;  ///< Not before the call. If it is kMaxTicks or more, the run is too long.
    bool has_arrived = false;
    std::uint32_t message = 0;  ///< For go_on(), until the message has arrived.
  };

  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// A message enters the network of its node at `now`. The nodes are different, and nodes of the
  /// topology.
  virtual Step send(Node source, Node destination, std::uint64_t bytes, Ticks now) = 0;
  virtual Step go_on(std::uint32_t message, Ticks now) = 0;

  /// For each channel of the topology. Empty if there is no topology.
  std::span<const ChannelTraffic> traffic() const { return traffic_; }

 protected:
  explicit Network(std::size_t channels) : traffic_(channels) {}
  void count(ChannelId channel, std::uint64_t bytes, Ticks transfer);

 private:
  std::vector<ChannelTraffic> traffic_;
};

/// Every message takes L, and on its path nothing waits. With a topology, traffic is counted.
class LogGpsNetwork final : public Network {
 public:
  /// `topology` may be null. It must outlive the network.
  LogGpsNetwork(const FabricCosts& costs, const Topology* topology);
  Step send(Node source, Node destination, std::uint64_t bytes, Ticks now) override;
  Step go_on(std::uint32_t message, Ticks now) override;

 private:
  const FabricCosts costs_;
  const Topology* const topology_;
  std::vector<ChannelId> path_;
};

/// Every message takes the mean time for its size on its path. If a later message between the same
/// nodes would overtake it, that one arrives at the same time. Needs some 50 bytes for each pair of
/// nodes that exchange messages.
class AnalyticNetwork final : public Network {
 public:
  /// `loads` has one entry for each channel; none is saturated. `topology` must outlive the
  /// network.
  AnalyticNetwork(const FabricCosts& costs, const Topology& topology,
                  std::span<const ChannelLoad> loads);
  Step send(Node source, Node destination, std::uint64_t bytes, Ticks now) override;
  Step go_on(std::uint32_t message, Ticks now) override;

 private:
  const FabricCosts costs_;
  const Topology& topology_;
  const std::vector<ChannelLoad> loads_;
  std::unordered_map<std::uint64_t, Ticks> last_arrival_;  ///< By source and destination.
  std::vector<ChannelId> path_;
  std::vector<ChannelLoad> on_path_;
};

}  // namespace xylem::predict
