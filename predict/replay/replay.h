#pragma once

// Replays a program on a network that LogGPS describes, by the rules of LogGOPSim. Other models of
// the network replace the latency L.
//
// Each rank has processors (CPUs) and NICs, each with a clock: the time until which it is busy.
// - Events happen in the order of their time; at the same time, in the order in which they were
//   created. Operations that become free together are created in the order send, receive, compute.
//   Accesses to files count as computing.
//   An operation becomes free when all operations that it requires have finished (for irequires:
//   have started). It starts at its processor's clock at the earliest.
// - Computing starts when the processor is free. It keeps the processor busy.
// - An access to a file starts when the processor is free, and does not keep it busy. It finishes
//   when the storage says so (disk/storage.h). What requires its end waits until then; what
//   requires its start goes on at once, and waits only where it requires the end.
// - A send starts when processor and send NIC are free, and occupies both (network/loggps.h). Its
//   message arrives o + L later. An eager send has finished when it has occupied the processor: one
//   of at most S bytes, or a buffered one. A synchronous one never is. A rendezvous finishes at the
//   moment of its match. Then the sender's processor and send NIC are not free before that moment.
//   The acknowledgement takes no time.
// - A message is taken when the receiver's processor and receive NIC are free, and occupies both,
//   whether a receive is posted or not. It uses the CPU and NIC numbers of its send.
// - A receive is posted at its processor's clock. It matches the earliest message that was taken,
//   by source and tag; a message matches the earliest posted receive. A receive that matches has
//   finished when its message has occupied the processor. Sizes of receives do not count.
//
// The time of a rank is the sum of T_run, T_IO and T_ready, see timeline.h. With more ranks than
// cores on a node, computing and the ends of messages need a core, see node/scheduler.h:
// - Computing, the o of a send and its bytes, and the taking of a message ask for a core when they
//   would start above, and start when the rank has one. Computing may be interrupted.
// - A message is taken by its rank, not by the system. So it waits for a core of the receiver's
//   node, also if no receive is posted.
// - A receive is posted, and an operation that takes no time happens, without a core.
//
// An operation never starts before an operation that it requires has finished, on whichever
// processor. docs/decisions/0040-loggps-as-loggopsim.md says where LogGOPSim differs.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "predict/disk/storage.h"
#include "predict/network/fabric.h"
#include "predict/network/loggps.h"
#include "predict/network/network.h"
#include "predict/replay/timeline.h"
#include "predict/trace/program.h"

namespace xylem::predict {

/// When the ranks of a program end, and what they did until then. The times of a rank add up:
/// end = run + io + ready. timeline.h says what they mean, and how they are rounded.
struct Prediction {
  /// The latest clock of all processors, rounded to the nearest nanosecond.
  std::uint64_t makespan_ns = 0;
  /// For each rank the latest clock of its processors.
  std::vector<std::uint64_t> end_ns;
  /// For each rank T_run, T_IO and T_ready. T_ready is 0 if no node has more ranks than cores.
  std::vector<std::uint64_t> run_ns, io_ns, ready_ns;
  std::uint64_t messages = 0;
  std::uint64_t events = 0;  ///< Operations and messages.
  /// Eager messages that no rank received. They stop nobody, but the program is suspicious.
  std::uint64_t unreceived = 0;
  /// Describes the first of these, by sender and operation. Empty if there is none.
  std::string first_unreceived;

  bool operator==(const Prediction&) const = default;
};

/// What is told while a replay runs. It does not change the result.
struct ReplayWatch {
  /// May be null. After a failure it has a part of the timelines.
  TimelineSink* timeline = nullptr;
  /// May be empty. Called now and then with the number of events so far, as in
  /// Prediction::events; many times a second. If it returns false, the replay fails with
  /// kUnavailable.
  std::function<bool(std::uint64_t events)> go_on{};
};

/// The cores of each node.
struct NodeCores {
  std::uint32_t cores = 0;     ///< 0: as many as needed.
  std::uint64_t slice_ns = 0;  ///< Of the round robin. Above 0 if a node has more ranks than cores.

  bool operator==(const NodeCores&) const = default;
};

/// Replays `program`. Needs about 10 bytes for each operation, besides the program, and about 200
/// for each rank and for each message under way.
///
/// Fails with kInvalidArgument if ranks wait forever, and names up to five of them with the
/// operation in which each waits. Also fails if a clock reaches kMaxTicks, with more than kMaxRanks
/// ranks, and if many ranks use many CPU and NIC numbers (more than 2^26 clocks and combinations).
/// Fails if the program accesses files, and names the first operation that does.
Result<Prediction> replay(const Program& program, const LogGps& parameters,
                          const ReplayWatch& watch = {});

/// The same for a program that accesses files. Rank r is on node r of its own. `storage` is new,
/// has a network of its own, and the same costs.
Result<Prediction> replay(const Program& program, const LogGpsCosts& costs, Storage& storage,
                          const ReplayWatch& watch = {});

/// The same with another network. Rank r is on node node_of_rank[r]. There is one entry for each
/// rank.
///
/// A message between two nodes enters `network` when its send has occupied the processor for o. It
/// arrives when the network says so, and costs at both ends what it costs above. A message inside
/// a node does not use the network, nor NICs: its send starts when the processor is free, it
/// arrives o and the latency of the memory later, and the receiver's processor takes o + (s-1)
/// times the larger of O and the memory's time per byte.
///
/// `network` is new. Its traffic is that of this replay afterwards. `storage` is new, and uses
/// `network` and the same costs. It may be null if the program accesses no files.
///
/// Also fails with kInvalidArgument if a node has more ranks than cores, and the program has
/// several CPU numbers. Ranks with a core each have the same result as without `cores`.
Result<Prediction> replay(const Program& program, const FabricCosts& costs,
                          std::span<const Node> node_of_rank, Network& network,
                          const NodeCores& cores = {}, const ReplayWatch& watch = {},
                          Storage* storage = nullptr);

}  // namespace xylem::predict
