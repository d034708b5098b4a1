#pragma once

// Even placement: balances the number of processes over all hosts. Other policies are compared with
// it. The steps are those of claim 3 of patent CN103051509A.
//
// Host i already has OS[i] processes. The steps place n communication processes on m hosts:
//
//   1, 2  sum = OS[0] + ... + OS[m-1] + n. quo and rem are the quotient and remainder of sum / m
//   3, 4  the target of host i is TS[i] = quo. The first rem hosts get one more
//   5     if OS[i] > TS[i], host i is too full. It is removed: its target is TS[i] = OS[i], and
//         OS[i] is subtracted from sum
//   6, 7  if step 5 removed a host, quo and rem are computed again, from the new sum and the number
//         of remaining hosts. The target of a remaining host is quo; the first rem of these hosts
//         get one more. Step 5 is repeated for these hosts
//   8     host i gets AS[i] = TS[i] - OS[i]
//
// Examples:
//
//   OS = 4 4 4 4, n = 3: sum = 19, TS = 5 5 5 4. The result is AS = 1 1 1 0
//   OS = 16 0 0,  n = 2: sum = 18, TS = 6 6 6. Host 0 is removed. For the other 2 hosts, sum = 2,
//                        TS = 16 1 1. The result is AS = 0 1 1
//   OS = 5 3 1 1, n = 6: sum = 16, TS = 4 4 4 4. Host 0 is removed. For the other 3 hosts,
//                        sum = 11, TS = 5 4 4 3. The result is AS = 0 1 3 2
//   OS = 8 2 2 0, n = 4: sum = 16, TS = 4 4 4 4. Host 0 is removed. For the other 3 hosts,
//                        sum = 8, TS = 8 3 3 2. The result is AS = 0 1 1 2
//
// The greedy rule gives the same result: one after another, each process goes to the least loaded
// host. On ties, the host with the lowest index gets it.
//
// If room is limited (room.h), the steps apply only to hosts with room. If a host would get more
// processes than it has room for, it gets only as many as it has room for. Then the steps are
// repeated for the other hosts and the remaining processes. The greedy rule gives the same result
// if it skips hosts without room.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "tree/host.h"

namespace xylem::placement {

/// One round: steps 1 to 5, or steps 6, 7 and 5. The numbers are sufficient to check the round by
/// hand.
struct EvenRound {
  /// The value of sum: the processes that the hosts of this round already have, plus the processes
  /// to place.
  std::uint64_t processes = 0;
  std::size_t hosts = 0;         ///< Number of hosts in this round.
  std::uint64_t quotient = 0;    ///< Target of all hosts except `remainder` hosts.
  std::uint64_t remainder = 0;   ///< Number of hosts whose target is `quotient` + 1.
  std::vector<HostId> too_full;  ///< Hosts that this round removed.
  /// Hosts that would get more processes than they have room for. They get as many as they have
  /// room for, and the next round is without them. In the last round, `no_room` and `too_full` are
  /// empty.
  std::vector<HostId> no_room;
};

/// The result of even placement, with its steps.
struct EvenPlacement {
  /// TS of each host: the number of processes after the placement.
  std::vector<std::uint64_t> target;
  /// AS of each host: the number of new processes. The sum is the requested number.
  std::vector<std::uint64_t> added;
  /// The rounds; empty only if no host has room.
  std::vector<EvenRound> rounds;
  /// Maximum number of new processes of each host, as the caller passed it; empty: no limits.
  std::vector<std::uint64_t> room;
};

/// Balances `comm_processes` new processes over hosts that already have `occupied[i]` processes.
/// The same input gives the same result. The time is proportional to hosts times rounds. There are
/// few rounds, because each further round needs much more unequal loads. For k rounds, the distance
/// of a load from the mean must grow like k factorial.
///
/// `room` is the maximum number of new processes of each host; empty: no limits. A host with room 0
/// gets no process: its target is its present number of processes.
///
/// Placing 0 processes always succeeds, even without hosts. Fails with kInvalidArgument if there
/// are processes but no hosts, or if check_room() fails. Also fails if there are more than 2^64 - 1
/// old and new processes.
Result<EvenPlacement> place_evenly(std::span<const std::uint64_t> occupied,
                                   std::uint64_t comm_processes,
                                   std::span<const std::uint64_t> room = {});

/// Returns the host of each communication process. Entry k is the host of node k + 1 of the tree,
/// breadth first. The order is the order in which the greedy rule places the processes. So the
/// upper levels of the tree are on the least busy hosts.
///
/// Example: the loads are 8 2 2 0, and 4 processes are placed. They go to the hosts 3, 3, 1 and 2;
/// just before, the loads of these hosts are 0, 1, 2 and 2.
///
/// `occupied` and `placement.added` must have the same size. Needs 16 bytes of temporary memory for
/// each process.
std::vector<HostId> fill_order(std::span<const std::uint64_t> occupied,
                               const EvenPlacement& placement);

/// Returns the rounds and a table of hosts as text, for `xylem place --explain`:
///
///   even placement of 4 communication processes on 4 hosts
///   round 1: 16 processes on 4 hosts: 4 each; too full: node1
///   round 2: 8 processes on 3 hosts: 2 each, the first 2 one more; too full: none
///   host   has  gets  target
///   node1    8     0       8
///   ...
///
/// If room is limited, a column `room` shows how many processes each host could get; `-` means any
/// number.
std::string explain(std::span<const tree::Host> hosts, const EvenPlacement& placement);

}  // namespace xylem::placement
