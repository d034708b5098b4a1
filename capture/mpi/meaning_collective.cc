#include "capture/mpi/hot_shapes_internal.h"

namespace xylem::capture {
namespace {

bool in_place(Word buffer) { return buffer == process.abi.in_place; }

// The sizes of the blocks that a rank exchanges with each member. Where all counts are 0, a program
// may pass any datatype, so MPI is asked for the size of a type only if there is an element of it.
class Blocks {
 public:
  // All blocks have the same type.
  Blocks(Counts counts, Word datatype) : counts_(counts), datatype_(datatype) {}
  // `types` is an array with one type for each block.
  static Blocks of_types(Counts counts, Word types) {
    Blocks blocks(counts, 0);
    blocks.types_ = types;
    return blocks;
  }

  std::uint64_t operator[](std::int32_t i) const {
    const std::int64_t count = counts_[i];
    if (count <= 0) return 0;
    if (types_ != 0) return payload(count, load_handle(types_, static_cast<std::uint32_t>(i)));
    if (each_ == 0) each_ = payload(1, datatype_);
    return static_cast<std::uint64_t>(count) * each_;
  }
  // The sum over `size` blocks. A bit of `absent` leaves out one of the first 64.
  std::uint64_t sum_of(std::int32_t size, std::uint64_t absent = 0) const {
    std::uint64_t total = 0;
    for (std::int32_t i = 0; i < size; ++i) {
      if (i < 64 && (absent >> i & 1) != 0) continue;
      total += (*this)[i];
    }
    return total;
  }

 private:
  Counts counts_;
  Word datatype_ = 0;
  Word types_ = 0;
  mutable std::uint64_t each_ = 0;  // Size of an element of `datatype_`; 0: not asked yet.
};

// Writes a record for each member with which this rank exchanges something. `sent` and `received`
// are null if there are no such blocks.
void note_blocks(const Call& call, const Group& group, const Blocks* sent, const Blocks* received,
                 std::int32_t size) {
  const bool is_wanted = call.result == 0 && call.calls != 0 && group.known() &&
                         process.segment->is_untraced.load(std::memory_order_relaxed) == 0;
  if (!is_wanted) return;
  Meaning meaning;
  meaning.comm = group.identity();
  meaning.flags = kRecordBlock;
  for (std::int32_t i = 0; i < size; ++i) {
    meaning.bytes = sent == nullptr ? 0 : (*sent)[i];
    meaning.room = received == nullptr ? 0 : (*received)[i];
    if (meaning.bytes == 0 && meaning.room == 0) continue;
    meaning.peer = group.world_rank(i);
    note_completion(call, meaning);
  }
}

// The number of neighbours of this rank.
struct Neighbours {
  std::int32_t in = 0;   ///< From which it receives.
  std::int32_t out = 0;  ///< To which it sends.
  /// A bit for each place without a neighbour: beyond the border of a Cartesian grid.
  std::uint64_t absent = 0;

  // Of this number of places, those with a neighbour.
  std::int32_t present(std::int32_t places) const {
    for (std::uint64_t left = absent; left != 0; left &= left - 1) --places;
    return places;
  }
};

Neighbours neighbours_in_grid(Word comm) {
  constexpr int kMaxDimensions = 32;  // Two bits of Neighbours::absent for each.
  int dimensions = 0;
  int size[kMaxDimensions], is_periodic[kMaxDimensions], at[kMaxDimensions];
  if (call_mpi(kMPI_Cartdim_get, comm, &dimensions) != 0) return {};
  Neighbours found{2 * dimensions, 2 * dimensions};
  if (dimensions > kMaxDimensions ||
      call_mpi(kMPI_Cart_get, comm, kMaxDimensions, size, is_periodic, at) != 0) {
    return found;
  }
  for (int d = 0; d < dimensions; ++d) {
    if (is_periodic[d] != 0) continue;
    if (at[d] == 0) found.absent |= std::uint64_t{1} << (2 * d);
    if (at[d] == size[d] - 1) found.absent |= std::uint64_t{2} << (2 * d);
  }
  return found;
}

// It asks MPI each time, since such calls are rare.
Neighbours neighbours_of(Word comm) {
  int topology = 0;
  if (call_mpi(kMPI_Topo_test, comm, &topology) != 0) return {};
  if (topology == process.abi.cartesian) return neighbours_in_grid(comm);
  if (topology == process.abi.dist_graph) {
    int in = 0, out = 0, weighted = 0;
    call_mpi(kMPI_Dist_graph_neighbors_count, comm, &in, &out, &weighted);
    return {in, out};
  }
  int count = 0;
  if (topology == process.abi.graph) {
    int rank = 0;
    call_mpi(kMPI_Comm_rank, comm, &rank);
    call_mpi(kMPI_Graph_neighbors_count, comm, rank, &count);
  }
  return {count, count};
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
  if (group.known()) {
    if (group.faces(root)) {
      meaning.bytes =
          in_place(sendbuf) ? payload(recvcount, recvtype) : payload(sendcount, sendtype);
    }
    if (group.is_root(root)) meaning.room = payload(recvcount * group.size(), recvtype);
    mark_in_place(meaning, sendbuf);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_gatherv(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                   Word sendbuf, std::int64_t sendcount, Word sendtype, Counts recvcounts,
                   Word recvtype) noexcept {
  Meaning meaning;
  const Blocks received(recvcounts, recvtype);
  const Group group(call, comm, meaning, root);
  const bool is_root = group.known() && group.is_root(root);
  if (group.known()) {
    if (group.faces(root)) {
      meaning.bytes = is_root && in_place(sendbuf) ? payload(recvcounts[group.rank()], recvtype)
                                                   : payload(sendcount, sendtype);
    }
    if (is_root) meaning.room = received.sum_of(group.size());
    mark_in_place(meaning, sendbuf);
  }
  finish_collective(call, mode, request, group, meaning);
  if (!is_root) return;
  note_blocks(call, group, nullptr, &received, group.size());
}

void after_scatter(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                   std::int64_t sendcount, Word sendtype, Word recvbuf, std::int64_t recvcount,
                   Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning, root);
  if (group.known()) {
    if (group.is_root(root)) meaning.bytes = payload(sendcount * group.size(), sendtype);
    if (group.faces(root)) {
      meaning.room =
          in_place(recvbuf) ? payload(sendcount, sendtype) : payload(recvcount, recvtype);
    }
    mark_in_place(meaning, recvbuf);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_scatterv(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                    Counts sendcounts, Word sendtype, Word recvbuf, std::int64_t recvcount,
                    Word recvtype) noexcept {
  Meaning meaning;
  const Blocks sent(sendcounts, sendtype);
  const Group group(call, comm, meaning, root);
  const bool is_root = group.known() && group.is_root(root);
  if (group.known()) {
    if (is_root) meaning.bytes = sent.sum_of(group.size());
    if (group.faces(root)) {
      meaning.room = is_root && in_place(recvbuf) ? payload(sendcounts[group.rank()], sendtype)
                                                  : payload(recvcount, recvtype);
    }
    mark_in_place(meaning, recvbuf);
  }
  finish_collective(call, mode, request, group, meaning);
  if (!is_root) return;
  note_blocks(call, group, &sent, nullptr, group.size());
}

void after_allgather(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                     std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                     Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = in_place(sendbuf) ? payload(recvcount, recvtype) : payload(sendcount, sendtype);
    meaning.room = payload(recvcount * group.size(), recvtype);
    mark_in_place(meaning, sendbuf);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_allgatherv(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                      std::int64_t sendcount, Word sendtype, Counts recvcounts,
                      Word recvtype) noexcept {
  Meaning meaning;
  const Blocks received(recvcounts, recvtype);
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = in_place(sendbuf) ? payload(recvcounts[group.rank()], recvtype)
                                      : payload(sendcount, sendtype);
    meaning.room = received.sum_of(group.size());
    mark_in_place(meaning, sendbuf);
  }
  finish_collective(call, mode, request, group, meaning);
  if (!group.known()) return;
  note_blocks(call, group, nullptr, &received, group.size());
}

void after_alltoall(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                    std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                    Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.room = payload(recvcount * group.size(), recvtype);
    meaning.bytes = in_place(sendbuf) ? meaning.room : payload(sendcount * group.size(), sendtype);
    mark_in_place(meaning, sendbuf);
  }
  finish_collective(call, mode, request, group, meaning);
}

namespace {

// For alltoallv and alltoallw. `sent` has a meaning only without MPI_IN_PLACE.
void after_exchange(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                    const Blocks* sent, const Blocks* received) {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (in_place(sendbuf)) sent = received;
  if (group.known()) {
    meaning.bytes = sent->sum_of(group.size());
    meaning.room = received->sum_of(group.size());
    mark_in_place(meaning, sendbuf);
  }
  finish_collective(call, mode, request, group, meaning);
  if (group.known()) note_blocks(call, group, sent, received, group.size());
}

}  // namespace

void after_alltoallv(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                     Counts sendcounts, Word sendtype, Counts recvcounts, Word recvtype) noexcept {
  const Blocks received(recvcounts, recvtype);
  // MPI ignores the type if the data is in place.
  const Blocks sent = in_place(sendbuf) ? received : Blocks(sendcounts, sendtype);
  after_exchange(call, mode, request, comm, sendbuf, &sent, &received);
}

void after_alltoallw(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                     Counts sendcounts, Word sendtypes, Counts recvcounts,
                     Word recvtypes) noexcept {
  const Blocks received = Blocks::of_types(recvcounts, recvtypes);
  const Blocks sent = Blocks::of_types(sendcounts, sendtypes);
  after_exchange(call, mode, request, comm, sendbuf, &sent, &received);
}

void after_reduce_local(const Call& call, std::int64_t count, Word datatype) noexcept {
  Meaning meaning;
  if (call.result == 0) meaning.bytes = payload(count, datatype);
  note(call, meaning);
}

void after_reduce_scatter(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                          Counts recvcounts, Word datatype, Word operation) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = Blocks(recvcounts, datatype).sum_of(group.local_size());
    meaning.room = payload(recvcounts[group.rank()], datatype);
    mark_in_place(meaning, sendbuf);
    set_operation(meaning, operation);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_reduce_scatter_block(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                                std::int64_t recvcount, Word datatype, Word operation) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = payload(recvcount * group.local_size(), datatype);
    meaning.room = payload(recvcount, datatype);
    mark_in_place(meaning, sendbuf);
    set_operation(meaning, operation);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_neighbor_allgather(const Call& call, Mode mode, Word request, Word comm,
                              std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                              Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = payload(sendcount, sendtype);
    const Neighbours neighbours = neighbours_of(comm);
    meaning.room = payload(recvcount * neighbours.present(neighbours.in), recvtype);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_neighbor_allgatherv(const Call& call, Mode mode, Word request, Word comm,
                               std::int64_t sendcount, Word sendtype, Counts recvcounts,
                               Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = payload(sendcount, sendtype);
    const Neighbours neighbours = neighbours_of(comm);
    meaning.room = Blocks(recvcounts, recvtype).sum_of(neighbours.in, neighbours.absent);
  }
  finish_collective(call, mode, request, group, meaning);
}

void after_neighbor_alltoall(const Call& call, Mode mode, Word request, Word comm,
                             std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                             Word recvtype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    const Neighbours neighbours = neighbours_of(comm);
    meaning.bytes = payload(sendcount * neighbours.present(neighbours.out), sendtype);
    meaning.room = payload(recvcount * neighbours.present(neighbours.in), recvtype);
  }
  finish_collective(call, mode, request, group, meaning);
}

namespace {

void after_neighbor_exchange(const Call& call, Mode mode, Word request, Word comm,
                             const Blocks& sent, const Blocks& received) {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    const Neighbours neighbours = neighbours_of(comm);
    meaning.bytes = sent.sum_of(neighbours.out, neighbours.absent);
    meaning.room = received.sum_of(neighbours.in, neighbours.absent);
  }
  finish_collective(call, mode, request, group, meaning);
}

}  // namespace

void after_neighbor_alltoallv(const Call& call, Mode mode, Word request, Word comm,
                              Counts sendcounts, Word sendtype, Counts recvcounts,
                              Word recvtype) noexcept {
  after_neighbor_exchange(call, mode, request, comm, Blocks(sendcounts, sendtype),
                          Blocks(recvcounts, recvtype));
}

void after_neighbor_alltoallw(const Call& call, Mode mode, Word request, Word comm,
                              Counts sendcounts, Word sendtypes, Counts recvcounts,
                              Word recvtypes) noexcept {
  after_neighbor_exchange(call, mode, request, comm, Blocks::of_types(sendcounts, sendtypes),
                          Blocks::of_types(recvcounts, recvtypes));
}

}  // namespace xylem::capture
