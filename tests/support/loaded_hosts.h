#pragma once

// A small model of a tree on hosts that are busy with other things: how many waves a second pass,
// and how long one takes from the leaves to the front end. Nothing runs; numbers in, numbers out,
// so that thousands of hosts can be tried. docs/placement.md ("Does it pay?") gives the formulas.
//
//   a host    has C cores, on each of which L processes of others run or want to; a process that
//             comes to it gets the share s = 1 / (1 + L) of a core, the k processes of the tree
//             there no more than min(1, C / k) of that each
//   a node    with f children works w = a + b f a wave, so it passes s / w waves a second
//   a link    of rate N carries (f + 1) messages of M bytes a wave for each node of its host
//   waves     the least of all hosts and links: a wave is whole when its slowest part is there
//   delay     the longest way from a leaf to the front end, adding at each node the wait for a
//             core, w / s, and the time of a message on both links
//   the wait  is a time slice where all cores are busy: 3 ms min(1, L)^C max(1, L)
//
// Left out: caches and memory, what nodes do to each other by sharing switches, waves of different
// sizes, loads that change while the tree runs (but see `redraw`), loads that other leaves are.

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/ids.h"
#include "placement/place.h"
#include "tree/skeleton.h"

namespace xylem::testing {

/// What else goes on at a host.
struct HostLoad {
  double cores = 16;
  double load = 0;      ///< L: processes of others that run or want to, per core.
  double memory = 64;   ///< Free, GiB. The tree does not care; fuzzy placement is told.
  double network = 10;  ///< Gbit/s.
  bool operator==(const HostLoad&) const = default;
};

/// What nodes do and say.
struct WaveCost {
  double base = 1e-6;       ///< a, seconds of a core a wave.
  double per_child = 1e-6;  ///< b.
  double bytes = 1024;      ///< M.
  double slice = 3e-3;      ///< Of the scheduler, seconds.
  double latency = 25e-6;   ///< Of a link, one way, seconds.
};

/// Hosts of a cluster in use: half of them with a load that is uniform below 0.5, three tenths
/// fully busy or nearly so (0.9 to 1.1), two tenths oversubscribed (1 and an exponential of mean
/// 4). One in ten has a link of 1 Gbit/s. Free memory is uniform up to 64 GiB.
std::vector<HostLoad> draw_loads(std::size_t hosts, std::mt19937_64& random);

/// Gives that share of the hosts, chosen at random, a new load: the facts are as old as that.
void redraw(std::span<HostLoad> hosts, double share, std::mt19937_64& random);

/// The hosts as placement sees them: one back end and 16 processes of the job each.
std::vector<tree::Host> as_hosts(std::size_t hosts);

/// What back ends would measure: idle, run queue, memory, network, round trip.
std::vector<placement::FactValues> as_facts(std::span<const HostLoad> loads,
                                            const WaveCost& cost = {});

/// What the model says of a tree.
struct TreeSpeed {
  double waves = 0;  ///< A second.
  double delay = 0;  ///< Seconds.
};

/// `carriers[k]` is the host of node k + 1; one leaf a host, attached as the tool attaches them.
TreeSpeed speed(const tree::Skeleton& skeleton, std::span<const HostId> carriers,
                std::span<const HostLoad> loads, const WaveCost& cost = {});

/// Carriers by who knows this model: each node, in order, goes where it passes the most waves then.
/// Not a bound of the delay, and of the waves only as far as nodes are alike.
std::vector<HostId> place_knowingly(const tree::Skeleton& skeleton, std::span<const HostLoad> loads,
                                    const WaveCost& cost = {});

/// Carriers by a policy of the tool, with facts from `seen`.
std::vector<HostId> place_by(placement::Policy policy, const tree::Shape& shape,
                             std::span<const HostLoad> seen);

}  // namespace xylem::testing
