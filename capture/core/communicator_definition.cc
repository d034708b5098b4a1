#include <sys/mman.h>

#include "capture/core/communicator_definition_internal.h"
#include "capture/core/definition_writer_internal.h"
#include "capture/core/process_internal.h"

namespace xylem::capture {
namespace {

// Zeroed memory for `count` integers; null if there is none.
class Numbers {
 public:
  explicit Numbers(std::size_t count)
      : bytes_((count + 1) * sizeof(int)), memory_(static_cast<int*>(take_memory(bytes_))) {}
  ~Numbers() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  int* data() const { return memory_; }

 private:
  std::size_t bytes_;
  int* memory_;
};

CommunicatorKind kind_of(Word handle, const Members& members) {
  if (members.is_inter) return CommunicatorKind::kInter;
  const Abi& abi = process.abi;
  int topology = abi.undefined;
  if (call_mpi(kMPI_Topo_test, handle, &topology) != 0) return CommunicatorKind::kIntra;
  if (topology == abi.cartesian) return CommunicatorKind::kCartesian;
  if (topology == abi.graph) return CommunicatorKind::kGraph;
  return topology == abi.dist_graph ? CommunicatorKind::kDistributedGraph
                                    : CommunicatorKind::kIntra;
}

void define_grid(Word handle, std::uint32_t comm) {
  constexpr int kMaxDimensions = 64;
  int count = 0;
  if (call_mpi(kMPI_Cartdim_get, handle, &count) != 0 || count <= 0 || count > kMaxDimensions)
    return;
  int sizes[kMaxDimensions], periods[kMaxDimensions], coordinates[kMaxDimensions];
  if (call_mpi(kMPI_Cart_get, handle, count, &sizes[0], &periods[0], &coordinates[0]) != 0) return;
  Dimension dimensions[kMaxDimensions];
  for (int i = 0; i < count; ++i) dimensions[i] = {sizes[i], periods[i] != 0 ? 1 : 0};
  definitions.dimensions(comm, dimensions, static_cast<std::uint32_t>(count));
}

// A communicator, and what is known of it.
struct Known {
  std::uint32_t comm;
  const Members& members;
};

// Ranks of the communicator become ranks of the world.
void translate(const Known& of, int* ranks, int count) {
  for (int i = 0; i < count; ++i) ranks[i] = of.members.world_rank(ranks[i]);
}

void define_neighbours(DefinitionKind kind, const Known& of, const int* world_ranks, int count) {
  definitions.neighbours(kind, of.comm, world_ranks, static_cast<std::uint32_t>(count));
}

void define_graph(Word handle, const Known& of) {
  int count = 0;
  const int rank = of.members.rank;
  if (call_mpi(kMPI_Graph_neighbors_count, handle, rank, &count) != 0 || count <= 0) return;
  const Numbers ranks(static_cast<std::size_t>(count));
  if (ranks.data() == nullptr) return;
  if (call_mpi(kMPI_Graph_neighbors, handle, rank, count, ranks.data()) != 0) return;
  translate(of, ranks.data(), count);
  define_neighbours(DefinitionKind::kSources, of, ranks.data(), count);
  define_neighbours(DefinitionKind::kDestinations, of, ranks.data(), count);
}

void define_distributed_graph(Word handle, const Known& of) {
  int in = 0, out = 0, is_weighted = 0;
  if (call_mpi(kMPI_Dist_graph_neighbors_count, handle, &in, &out, &is_weighted) != 0) return;
  if (in < 0 || out < 0) return;
  const auto sources = static_cast<std::size_t>(in), destinations = static_cast<std::size_t>(out);
  const Numbers from(sources), to(destinations), weights(sources + destinations);
  if (from.data() == nullptr || to.data() == nullptr || weights.data() == nullptr) return;
  if (call_mpi(kMPI_Dist_graph_neighbors, handle, in, from.data(), weights.data(), out, to.data(),
               weights.data() + in) != 0) {
    return;
  }
  translate(of, from.data(), in);
  translate(of, to.data(), out);
  define_neighbours(DefinitionKind::kSources, of, from.data(), in);
  define_neighbours(DefinitionKind::kDestinations, of, to.data(), out);
}

// Whether this member tells what all members know.
bool tells(const Members& members) {
  const std::int32_t place = members.rank, size = members.local_size;
  return place <= 1 || place == size / 2 || place == size - 1;
}

}  // namespace

void define(Word handle, std::uint32_t comm, Members& members, std::uint32_t parent) noexcept {
  if (!members.is_defined.load(std::memory_order_relaxed)) {
    members.is_defined.store(
        definitions.member({members.hash, members.rank, members.is_second ? 1u : 0u}),
        std::memory_order_relaxed);
  }
  const CommunicatorKind kind = kind_of(handle, members);
  if (tells(members)) {
    const std::int32_t first = members.is_second ? members.size : members.local_size;
    const std::int32_t second = members.is_second ? members.local_size : members.size;
    definitions.communicator(
        {comm, parent, members.hash, kind, first, members.is_inter ? second : 0, 0});
    if (kind == CommunicatorKind::kCartesian) define_grid(handle, comm);
  }
  if (kind == CommunicatorKind::kGraph) define_graph(handle, {comm, members});
  if (kind == CommunicatorKind::kDistributedGraph)
    define_distributed_graph(handle, {comm, members});
}

}  // namespace xylem::capture
