#pragma once

// Even placement: level the processes of all hosts. The baseline for every other policy, and the
// method of claim 3 of the overlay patent, step by step.
//
// With OS[i] processes on host i already (given), n communication processes to place and m hosts:
//
//   1, 2  sum = OS[0] + ... + OS[m-1] + n;  quo, rem = sum / m
//   3, 4  the target TS[i] = quo; the first rem hosts get one more
//   5     a host with OS[i] > TS[i] is too full already: TS[i] = OS[i], it is taken out of the
//         levelling, and its OS[i] out of sum
//   6, 7  while that took a host out: quo, rem = sum / (hosts that are left), targets of those anew
//         (the rem smallest, the lowest index on ties, get one more), and compare again
//   8     host i gets AS[i] = TS[i] - OS[i]
//
// (requirements 1.2.1). Further worked examples:
//
//   OS = 4 4 4 4, n = 3: sum = 19, TS = 5 5 5 4; AS = 1 1 1 0
//   OS = 16 0 0,  n = 2: sum = 18, TS = 6 6 6; 16 goes out; sum = 2 over 2: AS = 0 1 1
//   OS = 5 3 1 1, n = 6: sum = 16, TS = 4 4 4 4; 5 goes out; sum = 11 over 3, TS = 5 4 4 3;
//                        AS = 0 1 3 2
//
// By hand, OS = 8 2 2 0 and n = 4: sum = 16, TS = 4 4 4 4; host 0 has 8 > 4 and goes out. sum = 8
// over 3 hosts: 2, and the first 2 of them get one more: TS = 8 3 3 2; none is too full.
// AS = 0 1 1 2.
//
// The result equals the greedy rule: each process in turn to the least loaded host, the lowest
// index on ties.
//
// If room is limited (room.h), the steps apply to the hosts with room. Hosts that would get more
// than fits are filled, and the steps are repeated for the other hosts and the rest of the
// processes. That equals the greedy rule among hosts that have room.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "tree/host.h"

namespace xylem::placement {

/// One pass of steps 2-5 or 7: enough to check it by hand.
struct EvenRound {
  std::uint64_t processes = 0;   ///< sum: those on the hosts still levelled, plus new ones.
  std::size_t hosts = 0;         ///< Still levelled when the round began.
  std::uint64_t quotient = 0;    ///< Target of each of them...
  std::uint64_t remainder = 0;   ///< ...and of the first so many of them: one more.
  std::vector<HostId> too_full;  ///< Taken out by this round.
  std::vector<HostId> no_room;   ///< Would get more than fits: they are filled, and the next round
                                 ///< starts with the others. Both are empty in the last.
};

/// The result of even placement, with its steps.
struct EvenPlacement {
  std::vector<std::uint64_t> target;  ///< TS by host: processes there in the end.
  std::vector<std::uint64_t> added;   ///< AS by host; they sum up to the number asked for.
  std::vector<EvenRound> rounds;      ///< At least one, or none when no host has room.
  std::vector<std::uint64_t> room;    ///< As given; empty: no limits.
};

/// Levels `comm_processes` new processes over hosts that carry `occupied[i]` already. The same
/// input gives the same result. Time grows with hosts times rounds; there are few rounds, because
/// each further round needs loads whose distance from the mean grows by factorials.
///
/// `room` is the maximum for each host; empty: no limits. Hosts with room 0 take no part: their
/// target is their present load.
///
/// Placing 0 processes always succeeds, also without hosts. Fails with kInvalidArgument when there
/// are processes and no hosts, when they do not fit (check_room), or when all processes together
/// exceed 2^64 - 1.
Result<EvenPlacement> place_evenly(std::span<const std::uint64_t> occupied,
                                   std::uint64_t comm_processes,
                                   std::span<const std::uint64_t> room = {});

/// The order in which the hosts of a placement take their processes: entry k is the host of
/// communication process k (node k + 1, breadth first). It is the greedy order: process k goes to
/// the least loaded host, so the upper levels of the tree are on the least busy hosts.
///
/// By hand, as above: loads 8 2 2 0 -> host 3 (0), host 3 (1), host 1 (2), host 2 (2).
///
/// `occupied` and `placement.added` must have the same size. Temporary memory: 16 bytes a process.
std::vector<HostId> fill_order(std::span<const std::uint64_t> occupied,
                               const EvenPlacement& placement);

/// The rounds and a table of hosts as text, for `xylem place --explain`:
///
///   even placement of 4 communication processes on 4 hosts
///   round 1: 16 processes on 4 hosts: 4 each; too full: node1
///   round 2: 8 processes on 3 hosts: 2 each, the first 2 one more; too full: none
///   host   has  gets  target
///   node1    8     0       8
///   ...
///
/// Where a host's room is limited, a column `room` says how many each could get, `-` for any
/// number.
std::string explain(std::span<const tree::Host> hosts, const EvenPlacement& placement);

}  // namespace xylem::placement
