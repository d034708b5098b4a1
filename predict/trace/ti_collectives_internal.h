#pragma once

// The collective actions of time-independent traces, as SimGrid's SMPI writes and replays them (its
// smpi_replay.cpp). p is the number of ranks; arguments in brackets may be left out, the last ones
// first:
//
//   barrier
//   bcast         COUNT [ROOT [TYPE]]
//   reduce        COUNT FLOPS [ROOT [TYPE]]
//   allreduce     COUNT FLOPS [TYPE]
//   scan, exscan  COUNT FLOPS [TYPE]
//   reducescatter RECEIVED*p FLOPS [TYPE]
//   alltoall      SENT RECEIVED [TYPE [TYPE]]          allgather: the same
//   gather        SENT RECEIVED [ROOT [TYPE [TYPE]]]   scatter: the same
//   gatherv       SENT RECEIVED*p [ROOT [TYPE [TYPE]]]
//   scatterv      SENT*p RECEIVED [ROOT [TYPE [TYPE]]]
//   allgatherv    SENT RECEIVED*p [TYPE] [DISPLACEMENTS*p]
//   allgatherv    SENT RECEIVED*p DISPLACEMENTS*p TYPE TYPE
//   alltoallv     BUFFER SENT*p BUFFER RECEIVED*p [TYPE [TYPE]]
//
// The first type is that of what is sent, the second that of what is received; allgatherv has one.
// FLOPS are those that the rank does in the call. Older traces have capitals: allReduce, allToAllV.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "predict/collectives/collective.h"

namespace xylem::predict {

/// A collective action of a rank.
struct TiCollective {
  /// Without its sizes, which are below.
  CollectiveCall call;
  std::vector<std::uint64_t> sizes, received_sizes;
  std::uint64_t compute_ns = 0;
};

/// What a rank needs to read its actions.
struct TiRank {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::uint64_t default_type_bytes = 1;
  double flops_per_ns = 1;
};

/// The collective that an action names, or nothing.
std::optional<Collective> ti_collective(std::string_view action);

/// Fails with kInvalidArgument and a sentence without file and line.
Result<TiCollective> parse_ti_collective(Collective collective, std::string_view action,
                                         std::span<const std::string_view> arguments,
                                         const TiRank& rank);

}  // namespace xylem::predict
