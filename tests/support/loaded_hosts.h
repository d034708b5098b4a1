#pragma once

// A small model of a tree on hosts that are busy with other work. It computes how many waves per
// second the tree passes, and how long a wave takes from the leaves to the front end. It starts no
// processes, so thousands of hosts can be tried. docs/placement.md ("Does it pay?") gives the
// formulas.
//
//   a host    has C cores. For each core, L processes of others run or want to run. A process of
//             the tree gets the share s = 1 / (1 + L) * min(1, C / k) of a core, where k is the
//             number of the tree's processes on the host.
//   a node    with f children needs the CPU time w = a + b f for a wave. So it passes s / w waves
//             per second.
//   a link    of rate N carries f + 1 messages of M bytes for each wave and each node of its host.
//   waves     Waves per second: the minimum over all nodes and links, because a wave is complete
//             only when its slowest part has arrived.
//   delay     The longest time from a leaf to the front end. Each communication process on the way
//             adds the wait for a core, w / s, and the latency and the messages of its link. The
//             front end adds only w.
//   the wait  for a core is a time slice when all cores are busy: 3 ms * min(1, L)^C * max(1, L)
//
// The model leaves out caches and memory, contention in shared switches, waves of different sizes,
// and the load of other leaves. It also leaves out loads that change while the tree runs; but see
// redraw().

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/ids.h"
#include "placement/place.h"
#include "tree/skeleton.h"

namespace xylem::testing {

/// The other work on a host, and its resources.
struct HostLoad {
  double cores = 16;
  double load = 0;  ///< L: runnable processes of others, per core.
  /// Free memory in GiB. It has no effect on the tree, but fuzzy placement uses it.
  double memory = 64;
  double network = 10;  ///< Gbit/s.
  bool operator==(const HostLoad&) const = default;
};

/// The cost of a wave at a node and on a link.
struct WaveCost {
  double base = 1e-6;       ///< a: CPU time in seconds for each wave.
  double per_child = 1e-6;  ///< b: CPU time in seconds for each child and wave.
  double bytes = 1024;      ///< M: size of a message.
  double slice = 3e-3;      ///< Time slice of the scheduler, in seconds.
  double latency = 25e-6;   ///< Latency of a link in one direction, in seconds.
};

/// Returns hosts of a cluster that is in use. Half of them have a load that is uniform below 0.5.
/// Three tenths are fully busy or nearly so (0.9 to 1.1). Two tenths are oversubscribed (1 plus an
/// exponential with mean 4). One in ten has a link of 1 Gbit/s. Free memory is uniform up to 64
/// GiB.
std::vector<HostLoad> draw_loads(std::size_t hosts, std::mt19937_64& random);

/// Gives each host a new load with the probability `share`. For these hosts, facts from before the
/// call are then out of date.
void redraw(std::span<HostLoad> hosts, double share, std::mt19937_64& random);

/// Returns hosts for placement, each with one back end and 16 processes of the job.
std::vector<tree::Host> as_hosts(std::size_t hosts);

/// Returns the facts that back ends would measure: idle, run queue, memory, network, round trip.
std::vector<placement::FactValues> as_facts(std::span<const HostLoad> loads,
                                            const WaveCost& cost = {});

/// The speed of a tree according to the model.
struct TreeSpeed {
  double waves = 0;  ///< Waves per second.
  double delay = 0;  ///< Time of a wave from the leaves to the front end, in seconds.
};

/// `carriers[k]` is the host of node k + 1. Each host has one leaf, attached as placement::attach()
/// does.
TreeSpeed speed(const tree::Skeleton& skeleton, std::span<const HostId> carriers,
                std::span<const HostLoad> loads, const WaveCost& cost = {});

/// Chooses carriers with knowledge of this model. Node by node, it takes the host on which a
/// further internal leaf would pass the most waves per second. If all nodes are alike, no placement
/// passes more waves. The delay may still be longer than with another placement.
std::vector<HostId> place_knowingly(const tree::Skeleton& skeleton, std::span<const HostLoad> loads,
                                    const WaveCost& cost = {});

/// Chooses carriers by a policy of placement, with facts from `seen`.
std::vector<HostId> place_by(placement::Policy policy, const tree::Shape& shape,
                             std::span<const HostLoad> seen);

}  // namespace xylem::testing
