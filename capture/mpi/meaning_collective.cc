#include "capture/mpi/hot_shapes_internal.h"

namespace xylem::capture {
namespace {

bool in_place(Word sendbuf) { return sendbuf == process.abi.in_place; }

std::int64_t sum(Counts counts, std::int32_t size) {
  std::int64_t total = 0;
  for (std::int32_t i = 0; i < size; ++i) total += counts[i];
  return total;
}

std::uint64_t payload_of_each(Counts counts, Word types, std::int32_t size) {
  std::uint64_t total = 0;
  for (std::int32_t i = 0; i < size; ++i)
    total += payload(counts[i], load_handle(types, static_cast<std::uint32_t>(i)));
  return total;
}

// Returns the number of neighbours that this rank sends to. It asks MPI each time, since such calls
// are rare.
std::int32_t neighbours_to(Word comm) {
  int topology = 0;
  if (call_mpi(kMPI_Topo_test, comm, &topology) != 0) return 0;
  if (topology == process.abi.dist_graph) {
    int in = 0, out = 0, weighted = 0;
    call_mpi(kMPI_Dist_graph_neighbors_count, comm, &in, &out, &weighted);
    return out;
  }
  int count = 0;
  if (topology == process.abi.cartesian) {
    call_mpi(kMPI_Cartdim_get, comm, &count);
    return 2 * count;
  }
  if (topology == process.abi.graph) {
    int rank = 0;
    call_mpi(kMPI_Comm_rank, comm, &rank);
    call_mpi(kMPI_Graph_neighbors_count, comm, rank, &count);
  }
  return count;
}

}  // namespace

void lose_count(Word comm) noexcept {
  const CommEntry* entry = comms.find_known(comm);
  if (entry == nullptr) return message_numbers.give_up();
  entry->collectives.store(CommEntry::kUncertain, std::memory_order_relaxed);
}

void after_gather(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                  Word sendbuf, std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                  Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning, root);
  if (group.known() && group.gives_to(root)) {
    meaning.bytes = in_place(sendbuf) ? payload(recvcount, recvtype) : payload(sendcount, sendtype);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_gatherv(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                   Word sendbuf, std::int64_t sendcount, Word sendtype, Counts recvcounts,
                   Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning, root);
  if (group.known() && group.gives_to(root)) {
    meaning.bytes = in_place(sendbuf) ? payload(recvcounts[group.rank()], recvtype)
                                      : payload(sendcount, sendtype);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_scatter(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                   std::int64_t sendcount, Word sendtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning, root);
  if (group.known() && group.is_root(root))
    meaning.bytes = payload(sendcount * group.size(), sendtype);
  finish_collective(call, mode, request, group, meaning);
}

void after_scatterv(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                    Counts sendcounts, Word sendtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning, root);
  if (group.known() && group.is_root(root))
    meaning.bytes = payload(sum(sendcounts, group.size()), sendtype);
  finish_collective(call, mode, request, group, meaning);
}

void after_allgather(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                     std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                     Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = in_place(sendbuf) ? payload(recvcount, recvtype) : payload(sendcount, sendtype);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_allgatherv(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                      std::int64_t sendcount, Word sendtype, Counts recvcounts,
                      Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = in_place(sendbuf) ? payload(recvcounts[group.rank()], recvtype)
                                      : payload(sendcount, sendtype);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_alltoall(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                    std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                    Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = in_place(sendbuf) ? payload(recvcount * group.size(), recvtype)
                                      : payload(sendcount * group.size(), sendtype);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_alltoallv(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                     Counts sendcounts, Word sendtype, Counts recvcounts, Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = in_place(sendbuf) ? payload(sum(recvcounts, group.size()), recvtype)
                                      : payload(sum(sendcounts, group.size()), sendtype);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_alltoallw(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                     Counts sendcounts, Word sendtypes, Counts recvcounts,
                     Word recvtypes) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = in_place(sendbuf) ? payload_of_each(recvcounts, recvtypes, group.size())
                                      : payload_of_each(sendcounts, sendtypes, group.size());
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_reduce_local(const Call& call, std::int64_t count, Word datatype) noexcept {
  Meaning meaning;
  if (call.result == 0) meaning.bytes = payload(count, datatype);
  note(call, meaning);
}

void after_reduce_scatter(const Call& call, Mode mode, Word request, Word comm, Counts recvcounts,
                          Word datatype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) meaning.bytes = payload(sum(recvcounts, group.local_size()), datatype);
  finish_collective(call, mode, request, group, meaning);
}

void after_reduce_scatter_block(const Call& call, Mode mode, Word request, Word comm,
                                std::int64_t recvcount, Word datatype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) meaning.bytes = payload(recvcount * group.local_size(), datatype);
  finish_collective(call, mode, request, group, meaning);
}

void after_neighbor_allgather(const Call& call, Mode mode, Word request, Word comm,
                              std::int64_t sendcount, Word sendtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) meaning.bytes = payload(sendcount, sendtype);
  finish_collective(call, mode, request, group, meaning);
}

void after_neighbor_alltoall(const Call& call, Mode mode, Word request, Word comm,
                             std::int64_t sendcount, Word sendtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) meaning.bytes = payload(sendcount * neighbours_to(comm), sendtype);
  finish_collective(call, mode, request, group, meaning);
}

void after_neighbor_alltoallv(const Call& call, Mode mode, Word request, Word comm,
                              Counts sendcounts, Word sendtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) meaning.bytes = payload(sum(sendcounts, neighbours_to(comm)), sendtype);
  finish_collective(call, mode, request, group, meaning);
}

void after_neighbor_alltoallw(const Call& call, Mode mode, Word request, Word comm,
                              Counts sendcounts, Word sendtypes) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) meaning.bytes = payload_of_each(sendcounts, sendtypes, neighbours_to(comm));
  finish_collective(call, mode, request, group, meaning);
}

}  // namespace xylem::capture
