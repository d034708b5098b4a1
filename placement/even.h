#pragma once

// Even placement: balances the number of processes over all hosts. It is the baseline for every
// other policy, and it is the method of claim 3 of the overlay patent, step by step.
//
// OS[i] processes are on host i already; n communication processes are to be placed on m hosts:
//
//   1, 2  sum = OS[0] + ... + OS[m-1] + n;  quo, rem = sum / m
//   3, 4  the target TS[i] = quo; the first rem hosts get one more
//   5     a host with OS[i] > TS[i] is too full already and is removed: it keeps TS[i] = OS[i],
//         and OS[i] is subtracted from sum
//   6, 7  if this removed a host: quo, rem = sum / (hosts that are left). These hosts get new
//         targets (the rem smallest get one more, on ties the lowest index), and step 5 is repeated
//   8     host i gets AS[i] = TS[i] - OS[i]
//
// Examples:
//
//   OS = 4 4 4 4, n = 3: sum = 19, TS = 5 5 5 4; AS = 1 1 1 0
//   OS = 16 0 0,  n = 2: sum = 18, TS = 6 6 6; 16 is removed; sum = 2 over 2: AS = 0 1 1
//   OS = 5 3 1 1, n = 6: sum = 16, TS = 4 4 4 4; 5 is removed; sum = 11 over 3, TS = 5 4 4 3;
//                        AS = 0 1 3 2
//   OS = 8 2 2 0, n = 4: sum = 16, TS = 4 4 4 4; 8 is removed; sum = 8 over 3, quo = 2, rem = 2,
//                        TS = 8 3 3 2; AS = 0 1 1 2
//
// The result is the same as with the greedy rule: each process in turn goes to the least loaded
// host, on ties to the lowest index.
//
// If room is limited (room.h), the steps apply to the hosts with room. Hosts that would get more
// than their room are filled. Then the steps are repeated for the other hosts and the rest of the
// processes. This is the same as the greedy rule among hosts that have room.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "tree/host.h"

namespace xylem::placement {

/// One pass of steps 2-5 or 7, with all numbers that are needed to check it by hand.
struct EvenRound {
  /// sum: processes on the hosts of this round, plus those to place.
  std::uint64_t processes = 0;
  std::size_t hosts = 0;         ///< Number of hosts that take part in this round.
  std::uint64_t quotient = 0;    ///< Target of each of these hosts.
  std::uint64_t remainder = 0;   ///< Number of hosts whose target is one more.
  std::vector<HostId> too_full;  ///< Hosts that this round removed.
  /// Hosts that would get more than their room. They are filled, and the next round starts with the
  /// other hosts. This list and too_full are empty in the last round.
  std::vector<HostId> no_room;
};

/// The result of even placement, with its steps.
struct EvenPlacement {
  std::vector<std::uint64_t> target;  ///< TS by host: number of processes on the host at the end.
  std::vector<std::uint64_t> added;   ///< AS by host. The sum is the number of processes asked for.
  std::vector<EvenRound> rounds;      ///< At least one round; none if no host has room.
  /// Maximum number of new processes of each host, as given by the caller; empty: no limits.
  std::vector<std::uint64_t> room;
};

/// Balances `comm_processes` new processes over hosts that already have `occupied[i]` processes.
/// The same input gives the same result. The time grows with hosts times rounds. There are few
/// rounds: to cause one more round, the loads must be much further from the mean, and this distance
/// grows like a factorial of the number of rounds.
///
/// `room` is the maximum number of new processes of each host; empty: no limits. Hosts with room 0
/// take no part: their target is their present load.
///
/// Placing 0 processes always succeeds, also without hosts. Fails with kInvalidArgument if there
/// are processes but no hosts, if the processes do not fit (check_room), or if all processes
/// together are more than 2^64 - 1.
Result<EvenPlacement> place_evenly(std::span<const std::uint64_t> occupied,
                                   std::uint64_t comm_processes,
                                   std::span<const std::uint64_t> room = {});

/// Returns the order in which the hosts of a placement take their processes. Entry k is the host of
/// communication process k (node k + 1, breadth first). It is the greedy order: process k goes to
/// the least loaded host. So the upper levels of the tree are on the least busy hosts.
///
/// Example, as above: loads 8 2 2 0 give host 3 (load 0), host 3 (1), host 1 (2), host 2 (2).
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
/// If a host's room is limited, a column `room` shows how many processes each host could get; `-`
/// means any number.
std::string explain(std::span<const tree::Host> hosts, const EvenPlacement& placement);

}  // namespace xylem::placement
