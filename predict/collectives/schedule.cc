#include "predict/collectives/schedule.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/saturating.h"
#include "predict/collectives/schedule_maker_internal.h"

namespace xylem::predict {
namespace {

/// Each block has so many bytes.
Layout equal_blocks(std::uint64_t bytes) {
  return [bytes](const Blocks& of) { return saturating_multiply(of.count, bytes); };
}

/// The blocks of the ranks from `root` on.
Layout sized_blocks(std::span<const std::uint64_t> sizes, std::uint32_t root) {
  return [sizes, root](const Blocks& of) {
    std::uint64_t bytes = 0;
    for (std::uint64_t i = of.first; i < of.first + of.count; ++i) {
      bytes = saturating_add(bytes, sizes[(root + i) % sizes.size()]);
    }
    return bytes;
  };
}

/// Block s * ranks + d goes from rank s to rank d; one of them is `rank`.
Layout own_blocks(const CollectiveCall& call, std::uint64_t rank) {
  return [sent = call.sizes, received = call.received_sizes, rank](const Blocks& of) {
    const std::uint64_t from = of.first / sent.size();
    return from == rank ? sent[of.first % sent.size()] : received[from];
  };
}

/// A vector in `parts` parts whose size is rounded up to a byte. The last ones are smaller, or
/// empty. MPICH and Open MPI cut the data of a broadcast like this, not at elements.
Layout rounded_up_vector(std::uint64_t all, std::uint64_t parts) {
  const std::uint64_t part = all / parts + (all % parts != 0 ? 1 : 0);
  return [all, part](const Blocks& of) {
    const auto until = [&](std::uint64_t count) {
      return std::min(all, saturating_multiply(count, part));
    };
    return until(of.first + of.count) - until(of.first);
  };
}

/// A vector in `parts` parts, of which no two differ by more than an element.
Layout even_vector(const CollectiveCall& call, std::uint64_t parts) {
  const std::uint64_t elements = call.bytes / call.element_bytes;
  return [elements, rest = call.bytes % call.element_bytes, parts,
          element = call.element_bytes](const Blocks& of) {
    const auto until = [&](std::uint64_t count) {
      const std::uint64_t before =
          elements / parts * count + std::min<std::uint64_t>(elements % parts, count);
      return before * element + (count == parts ? rest : 0);
    };
    return until(of.first + of.count) - until(of.first);
  };
}

bool has_root(Collective collective) {
  switch (collective) {
    case Collective::kBcast:
    case Collective::kReduce:
    case Collective::kGather:
    case Collective::kGatherv:
    case Collective::kScatter:
    case Collective::kScatterv:
      return true;
    default:
      return false;
  }
}

Layout layout_of(const CollectiveCall& call, Algorithm algorithm, std::uint32_t ranks,
                 std::uint32_t rank) {
  if (call.collective == Collective::kAlltoallv) return own_blocks(call, rank);
  if (has_sizes(call.collective)) {
    return sized_blocks(call.sizes, has_root(call.collective) ? call.root : 0);
  }
  switch (algorithm) {
    case Algorithm::kScatterAllgather:
    case Algorithm::kScatterRingAllgather:
      return rounded_up_vector(call.bytes, ranks);
    case Algorithm::kRabenseifner:
      return even_vector(call, power_below(ranks));
    case Algorithm::kRing:
      return call.collective == Collective::kAllreduce ? even_vector(call, ranks)
                                                       : equal_blocks(call.bytes);
    default:
      return equal_blocks(call.bytes);
  }
}

}  // namespace

Schedule schedule_of(const CollectiveCall& call, Algorithm algorithm, std::uint32_t ranks,
                     std::uint32_t rank) {
  CHECK(rank < ranks && call.root < ranks && call.element_bytes > 0);
  CHECK(std::ranges::count(algorithms_for(call.collective), algorithm) == 1);
  CHECK(!has_sizes(call.collective) || call.sizes.size() == ranks);
  if (ranks == 1) return {};
  ScheduleMaker maker(ranks, rank, has_root(call.collective) ? call.root : 0,
                      layout_of(call, algorithm, ranks, rank));
  switch (call.collective) {
    case Collective::kBarrier:
      make_barrier(maker, algorithm);
      break;
    case Collective::kBcast:
      make_bcast(maker, algorithm);
      break;
    case Collective::kReduce:
      make_reduce(maker, algorithm);
      break;
    case Collective::kAllreduce:
      make_allreduce(maker, algorithm);
      break;
    case Collective::kAllgather:
    case Collective::kAllgatherv:
      make_allgather(maker, algorithm);
      break;
    case Collective::kAlltoall:
    case Collective::kAlltoallv:
      make_alltoall(maker, algorithm);
      break;
    case Collective::kGather:
    case Collective::kGatherv:
      make_gather(maker, algorithm);
      break;
    case Collective::kScatter:
    case Collective::kScatterv:
      make_scatter(maker, algorithm);
      break;
    case Collective::kReduceScatter:
    case Collective::kReduceScatterBlock:
      make_reduce_scatter(maker, algorithm);
      break;
    case Collective::kScan:
    case Collective::kExscan:
      make_scan(maker, algorithm);
      break;
  }
  return std::move(maker).finish();
}

}  // namespace xylem::predict
