/* One of each kind of MPI call that moves payload, with what it should count as: peers as world
 * ranks, bytes as capture/mpi/meaning_internal.h defines them.
 *
 *   meanings PREFIX      on an even number of ranks, at least 4
 *
 * Each rank writes PREFIX.RANK.tsv; see own_counts.h. `bytes` lines are per function, over its call
 * and completion records.
 */

#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include "own_counts.h"

static int rank, size, left, right;
static int in[4096], out[4096];

#define BYTES(function, n) own_bytes(OWN_ID(function), (uint64_t)(n))

static void point_to_point(void) {
  MPI_Datatype spread, mixed;
  int lengths[2] = {2, 3};
  MPI_Aint places[2] = {0, 64};
  MPI_Datatype parts[2] = {MPI_DOUBLE, MPI_SHORT};
  OWN(MPI_Type_vector, (5, 2, 7, MPI_DOUBLE, &spread)); /* 80 bytes */
  OWN(MPI_Type_commit, (&spread));
  OWN(MPI_Type_create_struct, (2, lengths, places, parts, &mixed)); /* 22 bytes */
  OWN(MPI_Type_commit, (&mixed));

  MPI_Request request;
  MPI_Status status;
  OWN(MPI_Irecv, (in, 2, spread, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
  OWN(MPI_Send, (out, 2, spread, right, 1, MPI_COMM_WORLD));
  own_sent(right, 160), BYTES(MPI_Send, 160);
  OWN(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  own_received(left, 160), BYTES(MPI_Wait, 160);

  OWN(MPI_Isend, (out, 3, mixed, right, 2, MPI_COMM_WORLD, &request));
  own_sent(right, 66), BYTES(MPI_Isend, 66);
  OWN(MPI_Recv, (in, 100, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status));
  own_received(left, 66), BYTES(MPI_Recv, 66);
  OWN(MPI_Wait, (&request, &status));

  OWN(MPI_Sendrecv, (out, 7, MPI_DOUBLE_INT, right, 3, in, 9, MPI_DOUBLE_INT, MPI_ANY_SOURCE, 3,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  own_sent(right, 84), own_received(left, 84), BYTES(MPI_Sendrecv, 168);
  OWN(MPI_Sendrecv_replace, (in, 5, MPI_INT, left, 4, right, 4, MPI_COMM_WORLD, &status));
  own_sent(left, 20), own_received(right, 20), BYTES(MPI_Sendrecv_replace, 40);

  /* Nobody at the other end: nothing moves. */
  OWN(MPI_Send, (out, 9, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD));
  OWN(MPI_Recv, (in, 9, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status));
  OWN(MPI_Irecv, (in, 9, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &request));
  OWN(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  OWN(MPI_Sendrecv, (out, 1, MPI_INT, MPI_PROC_NULL, 5, in, 1, MPI_INT, MPI_PROC_NULL, 5,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE));

  /* Bytes are of the message, not of the room for it; empty messages count as messages. */
  OWN(MPI_Bsend, (out, 0, MPI_INT, right, 6, MPI_COMM_WORLD));
  own_sent(right, 0), BYTES(MPI_Bsend, 0);
  OWN(MPI_Recv, (in, 100, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  own_received(left, 0);

  /* A receive that is cancelled brings nothing; one that is freed is not followed. */
  OWN(MPI_Irecv, (in, 1, MPI_INT, left, 999, MPI_COMM_WORLD, &request));
  OWN(MPI_Cancel, (&request));
  OWN(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  OWN(MPI_Type_free, (&spread));
  OWN(MPI_Type_free, (&mixed));
}

static void probes(void) {
  MPI_Status status;
  MPI_Message message;
  MPI_Request request, sends[3];
  int flag = 0;
  for (int i = 0; i < 3; ++i) {
    OWN(MPI_Isend, (out, 10 + i, MPI_INT, right, 20 + i, MPI_COMM_WORLD, &sends[i]));
    own_sent(right, 40 + 4 * (uint64_t)i), BYTES(MPI_Isend, 40 + 4 * i);
  }
  OWN(MPI_Probe, (MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OWN(MPI_Recv, (in, 10, MPI_INT, left, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  own_received(left, 40), BYTES(MPI_Recv, 40);
  OWN(MPI_Mprobe, (MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
  OWN(MPI_Mrecv, (in, 50, MPI_INT, &message, MPI_STATUS_IGNORE));
  own_received(left, 44), BYTES(MPI_Mrecv, 44);
  while (!flag) OWN(MPI_Improbe, (MPI_ANY_SOURCE, 22, MPI_COMM_WORLD, &flag, &message, &status));
  OWN(MPI_Imrecv, (in, 50, MPI_INT, &message, &request));
  for (flag = 0; !flag;) OWN(MPI_Test, (&request, &flag, MPI_STATUS_IGNORE));
  own_received(left, 48), BYTES(MPI_Test, 48);
  OWN(MPI_Waitall, (3, sends, MPI_STATUSES_IGNORE));
}

/* Receives that complete together; statuses wanted, then not. */
static void several(void) {
  MPI_Request requests[8];
  MPI_Status statuses[8];
  int indices[8], done = 0, which = 0, flag = 0;
  for (int way = 0; way < 6; ++way) {
    for (int i = 0; i < 4; ++i)
      OWN(MPI_Irecv,
          (in + 100 * i, 100, MPI_INT, MPI_ANY_SOURCE, 30 + i, MPI_COMM_WORLD, &requests[2 * i]));
    for (int i = 0; i < 4; ++i) {
      OWN(MPI_Isend, (out, i + way, MPI_INT, right, 30 + i, MPI_COMM_WORLD, &requests[2 * i + 1]));
      own_sent(right, 4 * (uint64_t)(i + way)), BYTES(MPI_Isend, 4 * (i + way));
      own_received(left, 4 * (uint64_t)(i + way));
    }
    const int all = 4 * (4 * way + 6);
    switch (way) {
      case 0:
        OWN(MPI_Waitall, (8, requests, statuses)), BYTES(MPI_Waitall, all);
        break;
      case 1:
        OWN(MPI_Waitall, (8, requests, MPI_STATUSES_IGNORE)), BYTES(MPI_Waitall, all);
        break;
      case 2:
        for (int i = 0; i < 8; ++i) OWN(MPI_Waitany, (8, requests, &which, MPI_STATUS_IGNORE));
        OWN(MPI_Waitany, (8, requests, &which, MPI_STATUS_IGNORE)); /* None is left. */
        BYTES(MPI_Waitany, all);
        break;
      case 3:
        for (int sum = 0; sum < 8; sum += done)
          OWN(MPI_Waitsome, (8, requests, &done, indices, MPI_STATUSES_IGNORE));
        BYTES(MPI_Waitsome, all);
        break;
      case 4:
        for (int sum = 0; sum < 8; sum += done)
          OWN(MPI_Testsome, (8, requests, &done, indices, statuses));
        BYTES(MPI_Testsome, all);
        break;
      default:
        for (int sum = 0; sum < 8; sum += flag)
          OWN(MPI_Testany, (8, requests, &which, &flag, MPI_STATUS_IGNORE));
        BYTES(MPI_Testany, all);
    }
  }
}

static void persistent(void) {
  MPI_Request requests[4];
  int flag = 0, n = 2;
  OWN(MPI_Recv_init, (in, 100, MPI_INT, MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, &requests[0]));
  OWN(MPI_Send_init, (out, 6, MPI_INT, right, 40, MPI_COMM_WORLD, &requests[1]));
#ifdef OPEN_MPI /* MPICH 4.0.2 frees such a request twice, and a later call hangs. */
  OWN(MPI_Send_init, (out, 6, MPI_INT, MPI_PROC_NULL, 40, MPI_COMM_WORLD, &requests[n++]));
#endif
  OWN(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE)); /* Not started: nothing arrives. */
  for (int times = 0; times < 3; ++times) {
    OWN(MPI_Start, (&requests[0]));
    OWN(MPI_Start, (&requests[1]));
    own_sent(right, 24), BYTES(MPI_Start, 24);
    OWN(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE));
    own_received(left, 24), BYTES(MPI_Wait, 24);
    OWN(MPI_Wait, (&requests[1], MPI_STATUS_IGNORE));
    OWN(MPI_Startall, (n, requests));
    own_sent(right, 24), BYTES(MPI_Startall, 24);
    for (flag = 0; !flag;) OWN(MPI_Testall, (n, requests, &flag, MPI_STATUSES_IGNORE));
    own_received(left, 24), BYTES(MPI_Testall, 24);
  }
  for (int i = 0; i < n; ++i) OWN(MPI_Request_free, (&requests[i]));
}

/* Ranks of a communicator are not those of the world. */
static void communicators(void) {
  MPI_Comm half, twin, reversed, other, merged;
  MPI_Request request, receive;
  MPI_Status status;
  int my_rank = 0, members = 0;
  OWN(MPI_Comm_split, (MPI_COMM_WORLD, rank % 2, -rank, &half)); /* Highest world rank first. */
  OWN(MPI_Comm_rank, (half, &my_rank));
  OWN(MPI_Comm_size, (half, &members));
  const int to = (my_rank + 1) % members, from = (my_rank + members - 1) % members;
  const int base = rank % 2 ? size - 1 : size - 2; /* World rank of `half`'s rank 0. */
  OWN(MPI_Sendrecv, (out, 3, MPI_INT, to, 50, in, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, half,
                     MPI_STATUS_IGNORE));
  own_sent(base - 2 * to, 12), own_received(base - 2 * from, 12), BYTES(MPI_Sendrecv, 24);

  OWN(MPI_Comm_idup, (half, &twin, &request));
  OWN(MPI_Wait, (&request, &status));
  OWN(MPI_Irecv, (in, 4, MPI_INT, from, 51, twin, &receive));
  OWN(MPI_Ssend, (out, 4, MPI_INT, to, 51, twin));
  own_sent(base - 2 * to, 16), BYTES(MPI_Ssend, 16);
  OWN(MPI_Comm_free, (&twin)); /* MPI keeps it for the receive; so must we. */
  OWN(MPI_Wait, (&receive, MPI_STATUS_IGNORE));
  own_received(base - 2 * from, 16), BYTES(MPI_Wait, 16);

  /* Between the halves: a peer is a rank of the other one. */
  OWN(MPI_Intercomm_create, (half, 0, MPI_COMM_WORLD, rank % 2 ? size - 2 : size - 1, 52, &other));
  const int beyond = (rank % 2 ? size - 2 : size - 1) - 2 * my_rank;
  OWN(MPI_Isend, (out, 5, MPI_INT, my_rank, 53, other, &request));
  own_sent(beyond, 20), BYTES(MPI_Isend, 20);
  OWN(MPI_Recv, (in, 5, MPI_INT, MPI_ANY_SOURCE, 53, other, MPI_STATUS_IGNORE));
  own_received(beyond, 20), BYTES(MPI_Recv, 20);
  OWN(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  const int root = rank % 2 ? 0 : my_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  OWN(MPI_Bcast, (in, 11, MPI_INT, root, other));
  BYTES(MPI_Bcast, root == MPI_ROOT ? 44 : 0);
  OWN(MPI_Intercomm_merge, (other, rank % 2, &merged)); /* Evens, reversed, then odds, reversed. */
  OWN(MPI_Comm_split, (merged, 0, rank, &reversed));    /* The world's order again. */
  OWN(MPI_Sendrecv, (out, 2, MPI_INT, right, 54, in, 2, MPI_INT, left, 54, reversed, &status));
  own_sent(right, 8), own_received(left, 8), BYTES(MPI_Sendrecv, 16);
  OWN(MPI_Comm_free, (&reversed));
  OWN(MPI_Comm_free, (&merged));
  OWN(MPI_Comm_free, (&other));
  OWN(MPI_Comm_free, (&half));
  /* A communicator in which I am not. */
  OWN(MPI_Comm_split, (MPI_COMM_WORLD, rank == 0 ? 1 : MPI_UNDEFINED, 0, &half));
  if (half != MPI_COMM_NULL) OWN(MPI_Comm_free, (&half));
}

/* `count` elements of `element` bytes. A read beyond the last one ends the program. */
static void* at_page_end(int count, size_t element) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)count * element;
  char* two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (two == MAP_FAILED || bytes > page || mprotect(two + page, page, PROT_NONE) != 0) abort();
  return two + page - bytes;
}

/* An intercommunicator between rank 0 and all others. Each array has only the elements that MPI
 * requires: one for each member of the other group, or for reduce_scatter of the own group. */
static void uneven_groups(void) {
  MPI_Comm own, other;
  OWN(MPI_Comm_split, (MPI_COMM_WORLD, rank == 0, rank, &own));
  OWN(MPI_Intercomm_create, (own, 0, MPI_COMM_WORLD, rank == 0, 55, &other));
  const int here = rank == 0 ? 1 : size - 1, there = size - here;

  int* shares = at_page_end(here, sizeof(int));
  int all = 0;
  for (int r = 1; r < size; ++r) all += r;
  for (int r = 0; r < here; ++r) shares[r] = rank == 0 ? all : r + 1;
  OWN(MPI_Reduce_scatter, (out, in, shares, MPI_INT, MPI_SUM, other));
  BYTES(MPI_Reduce_scatter, 4 * all);
  OWN(MPI_Reduce_scatter_block, (out, in, 2 * there, MPI_INT, MPI_SUM, other));
  BYTES(MPI_Reduce_scatter_block, 8 * here * there);

  int* twos = at_page_end(there, sizeof(int));
  int* places = at_page_end(there, sizeof(int));
  int* byte_places = at_page_end(there, sizeof(int));
  MPI_Datatype* types = at_page_end(there, sizeof(MPI_Datatype));
  for (int r = 0; r < there; ++r)
    twos[r] = 2, places[r] = 2 * r, byte_places[r] = 8 * r, types[r] = MPI_INT;
  for (int group = 0; group < 2; ++group) { /* The root is rank 0, then rank 1. */
    const int is_root = rank == group, gives = (rank == 0) != (group == 0);
    const int root = gives ? 0 : is_root ? MPI_ROOT : MPI_PROC_NULL;
    OWN(MPI_Gatherv, (out, 2, MPI_INT, in, is_root ? twos : NULL, is_root ? places : NULL, MPI_INT,
                      root, other));
    BYTES(MPI_Gatherv, gives ? 8 : 0);
    OWN(MPI_Scatterv, (out, is_root ? twos : NULL, is_root ? places : NULL, MPI_INT, in, 2, MPI_INT,
                       root, other));
    BYTES(MPI_Scatterv, is_root ? 8 * there : 0);
    OWN(MPI_Scatter, (out, 2, MPI_INT, in, 2, MPI_INT, root, other));
    BYTES(MPI_Scatter, is_root ? 8 * there : 0);
  }
  OWN(MPI_Allgatherv, (out, 2, MPI_INT, in, twos, places, MPI_INT, other));
  BYTES(MPI_Allgatherv, 8);
  OWN(MPI_Alltoall, (out, 2, MPI_INT, in, 2, MPI_INT, other));
  BYTES(MPI_Alltoall, 8 * there);
  OWN(MPI_Alltoallv, (out, twos, places, MPI_INT, in, twos, places, MPI_INT, other));
  BYTES(MPI_Alltoallv, 8 * there);
  OWN(MPI_Alltoallw, (out, twos, byte_places, types, in, twos, byte_places, types, other));
  BYTES(MPI_Alltoallw, 8 * there);
  OWN(MPI_Comm_free, (&other));
  OWN(MPI_Comm_free, (&own));
}

static void rooted(void) {
  int counts[own_ranks], places[own_ranks], sum = 0;
  for (int r = 0; r < size; ++r) counts[r] = r + 1, places[r] = sum, sum += counts[r];
  const int root = size - 1, is_root = rank == root;
  OWN(MPI_Bcast, (in, 10, MPI_DOUBLE, root, MPI_COMM_WORLD));
  BYTES(MPI_Bcast, is_root ? 80 : 0);
  OWN(MPI_Gather, (is_root ? MPI_IN_PLACE : out, 3, MPI_INT, in, 3, MPI_INT, root, MPI_COMM_WORLD));
  BYTES(MPI_Gather, 12);
  OWN(MPI_Gatherv, (is_root ? MPI_IN_PLACE : out, rank + 1, MPI_INT, in, counts, places, MPI_INT,
                    root, MPI_COMM_WORLD));
  BYTES(MPI_Gatherv, 4 * (rank + 1));
  OWN(MPI_Gatherv, (out, rank + 1, MPI_INT, in, counts, places, MPI_INT, root, MPI_COMM_WORLD));
  BYTES(MPI_Gatherv, 4 * (rank + 1));
  OWN(MPI_Scatter,
      (out, 2, MPI_INT, is_root ? MPI_IN_PLACE : in, 2, MPI_INT, root, MPI_COMM_WORLD));
  BYTES(MPI_Scatter, is_root ? 8 * size : 0);
  OWN(MPI_Scatterv, (out, counts, places, MPI_INT, in, rank + 1, MPI_INT, root, MPI_COMM_WORLD));
  BYTES(MPI_Scatterv, is_root ? 4 * sum : 0);
  OWN(MPI_Reduce,
      (is_root ? MPI_IN_PLACE : (void*)out, in, 8, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
  BYTES(MPI_Reduce, 32);
}

static void for_all(void) {
  int counts[own_ranks], places[own_ranks], byte_places[own_ranks], sum = 0;
  MPI_Datatype types[own_ranks];
  MPI_Request requests[3];
  for (int r = 0; r < size; ++r) {
    counts[r] = r + 1, places[r] = sum, byte_places[r] = 8 * sum, sum += counts[r];
    types[r] = MPI_INT;
  }
  const int n = size;
  OWN(MPI_Barrier, (MPI_COMM_WORLD));
  BYTES(MPI_Barrier, 0);
  OWN(MPI_Allgather, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 3, MPI_INT, MPI_COMM_WORLD));
  OWN(MPI_Allgather, (out, 3, MPI_INT, in, 3, MPI_INT, MPI_COMM_WORLD));
  BYTES(MPI_Allgather, 24);
  OWN(MPI_Allgatherv,
      (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, places, MPI_INT, MPI_COMM_WORLD));
  BYTES(MPI_Allgatherv, 4 * (rank + 1));
  OWN(MPI_Alltoall, (out, 2, MPI_INT, in, 2, MPI_INT, MPI_COMM_WORLD));
  OWN(MPI_Alltoall, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, MPI_COMM_WORLD));
  BYTES(MPI_Alltoall, 16 * n);
  int equal[own_ranks], equal_places[own_ranks];
  for (int r = 0; r < n; ++r) equal[r] = 3, equal_places[r] = 3 * r;
  OWN(MPI_Alltoallv,
      (out, equal, equal_places, MPI_INT, in, equal, equal_places, MPI_INT, MPI_COMM_WORLD));
  BYTES(MPI_Alltoallv, 12 * n);
  for (int r = 0; r < n; ++r) byte_places[r] = 12 * r;
  OWN(MPI_Alltoallw,
      (out, equal, byte_places, types, in, equal, byte_places, types, MPI_COMM_WORLD));
  BYTES(MPI_Alltoallw, 12 * n);
  OWN(MPI_Allreduce, (MPI_IN_PLACE, in, 5, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  BYTES(MPI_Allreduce, 40);
  OWN(MPI_Scan, (out, in, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  BYTES(MPI_Scan, 24);
  OWN(MPI_Exscan, (out, in, 7, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  BYTES(MPI_Exscan, 28);
  OWN(MPI_Reduce_scatter, (out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  BYTES(MPI_Reduce_scatter, 4 * sum);
  OWN(MPI_Reduce_scatter_block, (out, in, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  BYTES(MPI_Reduce_scatter_block, 8 * n);
  OWN(MPI_Reduce_local, (out, in, 4, MPI_INT, MPI_SUM));
  BYTES(MPI_Reduce_local, 16);
  OWN(MPI_Ibarrier, (MPI_COMM_WORLD, &requests[0]));
  OWN(MPI_Ibcast, (in, 9, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]));
  BYTES(MPI_Ibcast, rank == 0 ? 36 : 0);
  OWN(MPI_Iallreduce, (out, in + 100, 9, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]));
  BYTES(MPI_Iallreduce, 36);
  OWN(MPI_Waitall, (3, requests, MPI_STATUSES_IGNORE));
}

static void neighbours(void) {
  MPI_Comm ring, graph;
  const int dimensions[1] = {size}, periodic[1] = {1};
  OWN(MPI_Cart_create, (MPI_COMM_WORLD, 1, dimensions, periodic, 0, &ring));
  OWN(MPI_Neighbor_allgather, (out, 3, MPI_INT, in, 3, MPI_INT, ring));
  BYTES(MPI_Neighbor_allgather, 12);
  OWN(MPI_Neighbor_alltoall, (out, 3, MPI_INT, in, 3, MPI_INT, ring));
  BYTES(MPI_Neighbor_alltoall, 24);
  const int counts[1] = {rank + 1}, places[1] = {0}, incoming[1] = {left + 1};
  OWN(MPI_Dist_graph_create_adjacent, (MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
  OWN(MPI_Neighbor_alltoallv, (out, counts, places, MPI_INT, in, incoming, places, MPI_INT, graph));
  BYTES(MPI_Neighbor_alltoallv, 4 * (rank + 1));
  OWN(MPI_Comm_free, (&graph));
  OWN(MPI_Comm_free, (&ring));
}

static void one_sided(void) {
  MPI_Win window, other;
  MPI_Comm comm;
  MPI_Request request;
  MPI_Group group, all;
  int *shared, old, one = 1;
  OWN(MPI_Win_create, (in, sizeof in, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window));
  OWN(MPI_Win_fence, (0, window));
  OWN(MPI_Put, (out, 9, MPI_INT, right, 0, 9, MPI_INT, window));
  BYTES(MPI_Put, 36);
  OWN(MPI_Put, (out, 9, MPI_INT, MPI_PROC_NULL, 0, 9, MPI_INT, window));
  OWN(MPI_Win_fence, (0, window));
  OWN(MPI_Get, (out, 5, MPI_INT, left, 0, 5, MPI_INT, window));
  BYTES(MPI_Get, 20);
  OWN(MPI_Win_fence, (0, window));
  OWN(MPI_Accumulate, (out, 3, MPI_INT, right, 9, 3, MPI_INT, MPI_SUM, window));
  BYTES(MPI_Accumulate, 12);
  OWN(MPI_Win_fence, (0, window));

  OWN(MPI_Win_lock, (MPI_LOCK_SHARED, right, 0, window));
  OWN(MPI_Rput, (out, 2, MPI_INT, right, 0, 2, MPI_INT, window, &request));
  BYTES(MPI_Rput, 8);
  OWN(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  OWN(MPI_Rget, (out, 4, MPI_INT, right, 0, 4, MPI_INT, window, &request));
  BYTES(MPI_Rget, 16);
  OWN(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  OWN(MPI_Get_accumulate,
      (NULL, 0, MPI_INT, out, 6, MPI_INT, right, 20, 6, MPI_INT, MPI_NO_OP, window));
  BYTES(MPI_Get_accumulate, 24);
  OWN(MPI_Win_flush, (right, window));
  OWN(MPI_Fetch_and_op, (&one, &old, MPI_INT, right, 20, MPI_SUM, window));
  BYTES(MPI_Fetch_and_op, 4);
  OWN(MPI_Win_flush_local, (right, window));
  OWN(MPI_Compare_and_swap, (&one, &one, &old, MPI_INT, right, 21, window));
  BYTES(MPI_Compare_and_swap, 4);
  OWN(MPI_Win_unlock, (right, window));
  OWN(MPI_Win_lock_all, (0, window));
  OWN(MPI_Win_sync, (window));
  OWN(MPI_Win_flush_all, (window));
  OWN(MPI_Win_unlock_all, (window));

  OWN(MPI_Comm_group, (MPI_COMM_WORLD, &all));
  const int neighbours[2] = {left, right};
  OWN(MPI_Group_incl, (all, 2, neighbours, &group));
  OWN(MPI_Win_post, (group, 0, window));
  OWN(MPI_Win_start, (group, 0, window));
  OWN(MPI_Put, (out, 1, MPI_DOUBLE, right, 40, 1, MPI_DOUBLE, window));
  BYTES(MPI_Put, 8);
  OWN(MPI_Win_complete, (window));
  OWN(MPI_Win_wait, (window));
  OWN(MPI_Group_free, (&group));
  OWN(MPI_Group_free, (&all));
  OWN(MPI_Win_free, (&window));

  /* Not of some of the ranks: Open MPI 4.1.4 gives two such windows one file. */
  OWN(MPI_Comm_split, (MPI_COMM_WORLD, 0, -rank, &comm));
  OWN(MPI_Win_allocate, (64, 1, MPI_INFO_NULL, comm, &shared, &other));
  OWN(MPI_Win_fence, (0, other));
  OWN(MPI_Put, (out, 7, MPI_BYTE, 0, 0, 7, MPI_BYTE, other)); /* The last rank. */
  BYTES(MPI_Put, 7);
  OWN(MPI_Win_fence, (0, other));
  OWN(MPI_Win_free, (&other));
  OWN(MPI_Comm_free, (&comm));
}

static void files(const char* prefix) {
  char name[4096];
  MPI_File file;
  MPI_Request request;
  MPI_Status status;
  snprintf(name, sizeof name, "%s.file", prefix);
  OWN(MPI_File_open, (MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OWN(MPI_File_write_at_all, (file, rank * 400, out, 100, MPI_INT, MPI_STATUS_IGNORE));
  BYTES(MPI_File_write_at_all, 400);
  OWN(MPI_File_sync, (file));
  OWN(MPI_Barrier, (MPI_COMM_WORLD));
  /* Bytes are what was there, not the room for it. */
  OWN(MPI_File_read_at, (file, size * 400 - 8, in, 100, MPI_INT, &status));
  BYTES(MPI_File_read_at, 8);
  OWN(MPI_File_seek, (file, rank * 400, MPI_SEEK_SET));
  OWN(MPI_File_read, (file, in, 10, MPI_INT, MPI_STATUS_IGNORE));
  BYTES(MPI_File_read, 40);
  OWN(MPI_File_write, (file, out, 11, MPI_INT, MPI_STATUS_IGNORE));
  BYTES(MPI_File_write, 44);
  OWN(MPI_File_iread_at, (file, 0, in, 12, MPI_INT, &request));
  BYTES(MPI_File_iread_at, 48);
  OWN(MPI_Wait, (&request, &status));
  OWN(MPI_File_iwrite_at, (file, rank * 400, out, 13, MPI_INT, &request));
  BYTES(MPI_File_iwrite_at, 52);
  OWN(MPI_Wait, (&request, &status));
  OWN(MPI_File_write_at_all_begin, (file, rank * 400, out, 14, MPI_INT));
  BYTES(MPI_File_write_at_all_begin, 56);
  OWN(MPI_File_write_at_all_end, (file, out, &status));
  OWN(MPI_File_close, (&file));
}

/* What only MPI 4 has. */
static void fourth(void) {
#if MPI_VERSION >= 4
  MPI_Request request;
  MPI_Count counts[own_ranks];
  MPI_Aint places[own_ranks];
  OWN(MPI_Isendrecv,
      (out, 3, MPI_INT, right, 60, in, 9, MPI_INT, MPI_ANY_SOURCE, 60, MPI_COMM_WORLD, &request));
  own_sent(right, 12), BYTES(MPI_Isendrecv, 12);
  OWN(MPI_Wait, (&request, MPI_STATUS_IGNORE)); /* Its status says nothing in MPICH 4.0.2. */
  OWN(MPI_Bcast_init, (in, 5, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  OWN(MPI_Start, (&request));
  BYTES(MPI_Start, rank == 1 ? 20 : 0);
  OWN(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  OWN(MPI_Request_free, (&request));
  if (rank % 2 == 0) {
    OWN(MPI_Send_c, (out, 13, MPI_INT, rank + 1, 61, MPI_COMM_WORLD));
    own_sent(rank + 1, 52), BYTES(MPI_Send_c, 52);
  } else {
    OWN(MPI_Recv_c, (in, 50, MPI_INT, MPI_ANY_SOURCE, 61, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    own_received(rank - 1, 52), BYTES(MPI_Recv_c, 52);
  }
  for (int r = 0; r < size; ++r) counts[r] = 2, places[r] = 2 * r;
  OWN(MPI_Gatherv_c,
      (rank == 0 ? MPI_IN_PLACE : out, 2, MPI_INT, in, counts, places, MPI_INT, 0, MPI_COMM_WORLD));
  BYTES(MPI_Gatherv_c, 8);
#endif
}

int main(int count, char** arguments) {
  char room[4096 + MPI_BSEND_OVERHEAD];
  void* detached;
  int flag = 0, bytes = 0;
  if (count != 2) return 2;
  own_begin_thread();
  OWN(MPI_Initialized, (&flag));
  OWN(MPI_Initialized, (&flag));
  OWN(MPI_Init, (NULL, NULL));
  OWN(MPI_Comm_rank, (MPI_COMM_WORLD, &rank));
  OWN(MPI_Comm_size, (MPI_COMM_WORLD, &size));
  if (size < 4 || size % 2 != 0) OWN(MPI_Abort, (MPI_COMM_WORLD, 2));
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  OWN(MPI_Buffer_attach, (room, sizeof room));
  point_to_point();
  probes();
  several();
  persistent();
  communicators();
  uneven_groups();
  rooted();
  for_all();
  neighbours();
  one_sided();
  files(arguments[1]);
  fourth();
  OWN(MPI_Buffer_detach, (&detached, &bytes));
  OWN(MPI_Finalize, ());
  OWN(MPI_Finalized, (&flag));
  own_end_thread();
  own_write(arguments[1], rank);
  return 0;
}
