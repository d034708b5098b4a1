#pragma once

// Replays a program on a machine with nodes, a topology and a model of its network.

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "predict/disk/storage.h"
#include "predict/network/fabric.h"
#include "predict/network/network.h"
#include "predict/network/topology.h"
#include "predict/replay/replay.h"
#include "predict/trace/program.h"

namespace xylem::predict {

/// What a network does to a message between two nodes. See predict/network/.
enum class Model : std::uint8_t {
  kLogGps,    ///< Every message takes the latency L.
  kAnalytic,  ///< The mean for its path and the load that the program causes.
  kChannels,  ///< Each channel serves one message after the other.
};

struct Machine {
  LogGps ends;
  Fabric fabric;
  MemoryPath memory;
  /// May be null for kLogGps. Must outlive the machine.
  const Topology* topology = nullptr;
  /// For each rank its node, below the topology's number of nodes. Empty for kLogGps without a
  /// topology: then each rank has a node of its own, even for messages to itself.
  std::vector<Node> node_of_rank;
  NodeCores cores{};
  StorageOptions storage{};
  /// The node of each storage node, on which no rank is. Without a topology the numbers do not
  /// count.
  std::vector<Node> storage_nodes{};
};

/// The load above which the formula of kAnalytic is not used, in billionths.
constexpr std::uint64_t kMaxAnalyticLoad = kFullLoad / 100 * 95;
/// Maximum number of replays for kAnalytic.
constexpr std::uint32_t kMaxReplays = 24;
/// kAnalytic stops when a makespan differs from the one that was assumed for the loads by at most
/// its kPrecision-th part.
constexpr std::uint64_t kPrecision = 1000;

/// What a channel carried.
struct ChannelUse {
  ChannelId channel{};
  ChannelTraffic traffic;
  std::uint64_t busy_ns = 0;
  std::uint64_t load = 0;  ///< Share of the makespan in which it was busy, in billionths.

  bool operator==(const ChannelUse&) const = default;
};

struct MachinePrediction {
  Prediction prediction;
  std::vector<ChannelUse> channels;  ///< Those with messages, by id. Empty without a topology.
  std::uint32_t replays = 1;
  /// For kAnalytic: whether the last replay had the loads that were assumed for it.
  bool has_converged = true;
  /// For kAnalytic: how many channels have a load above kMaxAnalyticLoad. Their waits were computed
  /// for kMaxAnalyticLoad, so the makespan is too short: the network is saturated.
  std::uint32_t saturated = 0;
  StorageTotals storage{};  ///< Of the last replay.

  /// Events of all replays; each has as many.
  std::uint64_t events() const { return prediction.events * replays; }

  bool operator==(const MachinePrediction&) const = default;
};

/// Replays `program` on `machine`.
///
/// kAnalytic needs the loads of the channels, and they depend on the makespan: a channel carries
/// the same bytes in each replay, so its load is its busy time divided by the makespan. The first
/// replay assumes an idle network. Each further one assumes a makespan. If it ends later, the next
/// assumes a longer one, otherwise a shorter one: the middle between the closest known limits.
///
/// With a timeline in `watch`, kAnalytic repeats its last replay for it, so that the timeline is
/// that of the result.
///
/// Messages between compute nodes and storage nodes count as others. Which of them there are may
/// depend on times, if ranks share a page cache. So for kAnalytic the loads of a program with files
/// may differ a little from replay to replay.
///
/// Fails as replay() does. Fails with kInvalidArgument if the model needs a topology and there is
/// none, and if the accesses to files are too many or too far (see file_lengths()).
Result<MachinePrediction> replay_on(const Program& program, const Machine& machine, Model model,
                                    const ReplayWatch& watch = {});

/// The time of one message in an idle network, in ticks. The sum of the parts is the total.
struct MessageDelay {
  std::uint64_t ticks_per_ns = 1;
  std::uint32_t switches = 0;  ///< On the path. 0 without a topology and inside a node.
  Ticks send_overhead = 0;     ///< o
  Ticks latency = 0;           ///< L, or the latency of the memory. 0 if there is a path.
  Ticks switching = 0;         ///< n τ
  Ticks headers = 0;           ///< n α s/W
  Ticks transfer = 0;          ///< Until the receiver has all bytes, at the slowest of channel,
                               ///< NIC and processor.
  Ticks receive_overhead = 0;  ///< o
  Ticks total = 0;

  bool operator==(const MessageDelay&) const = default;
};

/// From the start of a send until a receive that waits for it has finished. Ranks are indices of
/// `machine.node_of_rank`; without nodes, different ranks are on different nodes. Fails with
/// kInvalidArgument if the model needs a topology and there is none.
Result<MessageDelay> message_delay(const Machine& machine, Model model, std::uint32_t source,
                                   std::uint32_t destination, std::uint64_t bytes);

}  // namespace xylem::predict
