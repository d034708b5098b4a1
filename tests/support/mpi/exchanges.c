/* Receives and collectives, with what each one posts, sends and receives.
 *
 *   exchanges PREFIX      on at least 2 ranks
 *
 * Each rank writes PREFIX.RANK, a line for each call, in the order of the calls:
 *
 *   post FUNCTION posted_bytes any_source any_tag
 *   all FUNCTION bytes received_bytes operation in_place root number_of_blocks
 *   block FUNCTION peer bytes received_bytes             the blocks of the line before
 *
 * "-" stands for none. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMaxRanks = 64 };

static FILE* said;
static int rank, size;
static int in[65536], out[65536];

static void all(const char* function, int bytes, int received, const char* operation, int in_place,
                int root, int blocks) {
  fprintf(said, "all %s %d %d %s %d ", function, bytes, received, operation, in_place);
  fprintf(said, root < 0 ? "- %2$d\n" : "%1$d %2$d\n", root, blocks);
}

static void block(const char* function, int peer, int bytes, int received) {
  fprintf(said, "block %s %d %d %d\n", function, peer, bytes, received);
}

static void post(const char* function, int bytes, int any_source, int any_tag) {
  fprintf(said, "post %s %d %d %d\n", function, bytes, any_source, any_tag);
}

static void receives(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request requests[3];
  MPI_Message message;
  MPI_Status status;

  MPI_Irecv(in, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  post("MPI_Irecv", 400, 1, 1);
  MPI_Send(out, 3, MPI_INT, right, 1, MPI_COMM_WORLD);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  all("MPI_Barrier", 0, 0, "-", 0, -1, 0);

  MPI_Isend(out, 4, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv(in, 9, MPI_DOUBLE, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  post("MPI_Recv", 72, 0, 1);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

  MPI_Sendrecv(out, 5, MPI_INT, right, 3, in, 50, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  post("MPI_Sendrecv", 200, 1, 0);
  MPI_Sendrecv_replace(in, 5, MPI_INT, right, 4, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  post("MPI_Sendrecv_replace", 20, 0, 0);

  /* An empty buffer is posted too, and one for nobody is not. */
  MPI_Irecv(in, 0, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[0]);
  post("MPI_Irecv", 0, 0, 0);
  MPI_Send(out, 0, MPI_INT, right, 5, MPI_COMM_WORLD);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Recv(in, 9, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Irecv(in, 9, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 9, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

  MPI_Isend(out, 6, MPI_SHORT, right, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Mprobe(left, 6, MPI_COMM_WORLD, &message, &status);
  MPI_Imrecv(in, 7, MPI_SHORT, &message, &requests[1]);
  post("MPI_Imrecv", 14, 0, 0);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Isend(out, 6, MPI_SHORT, right, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Mprobe(left, 6, MPI_COMM_WORLD, &message, &status);
  MPI_Mrecv(in, 8, MPI_SHORT, &message, MPI_STATUS_IGNORE);
  post("MPI_Mrecv", 16, 0, 0);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

  MPI_Recv_init(in, 11, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out, 2, MPI_INT, right, 7, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; ++i) {
    MPI_Start(&requests[0]);
    post("MPI_Start", 44, 1, 0);
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void rooted(int root) {
  const int is_root = rank == root;
  int counts[kMaxRanks], places[kMaxRanks], sum = 0;
  for (int r = 0; r < size; ++r) counts[r] = 3 * r, places[r] = sum, sum += counts[r];
  MPI_Request request;

  MPI_Bcast(in, 10, MPI_DOUBLE, root, MPI_COMM_WORLD);
  all("MPI_Bcast", is_root ? 80 : 0, is_root ? 0 : 80, "-", 0, root, 0);
  MPI_Ibcast(in, 11, MPI_DOUBLE, root, MPI_COMM_WORLD, &request);
  all("MPI_Ibcast", is_root ? 88 : 0, is_root ? 0 : 88, "-", 0, root, 0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Gather(is_root ? MPI_IN_PLACE : out, 3, MPI_INT, in, 3, MPI_INT, root, MPI_COMM_WORLD);
  all("MPI_Gather", 12, is_root ? 12 * size : 0, "-", is_root, root, 0);
  MPI_Scatter(out, 2, MPI_INT, is_root ? MPI_IN_PLACE : in, 2, MPI_INT, root, MPI_COMM_WORLD);
  all("MPI_Scatter", is_root ? 8 * size : 0, 8, "-", is_root, root, 0);

  MPI_Gatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, root, MPI_COMM_WORLD);
  all("MPI_Gatherv", 4 * counts[rank], is_root ? 4 * sum : 0, "-", 0, root, is_root ? size - 1 : 0);
  for (int r = 1; is_root && r < size; ++r) block("MPI_Gatherv", r, 0, 4 * counts[r]);
  MPI_Iscatterv(out, counts, places, MPI_INT, in, counts[rank], MPI_INT, root, MPI_COMM_WORLD,
                &request);
  all("MPI_Iscatterv", is_root ? 4 * sum : 0, 4 * counts[rank], "-", 0, root,
      is_root ? size - 1 : 0);
  for (int r = 1; is_root && r < size; ++r) block("MPI_Iscatterv", r, 4 * counts[r], 0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  MPI_Reduce(is_root ? MPI_IN_PLACE : (void*)out, in, 8, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  all("MPI_Reduce", 32, is_root ? 32 : 0, "sum", is_root, root, 0);
  MPI_Reduce(out, in, 8, MPI_DOUBLE_INT, MPI_MAXLOC, root, MPI_COMM_WORLD);
  all("MPI_Reduce", 96, is_root ? 96 : 0, "maxloc", 0, root, 0);
}

static void add(void* from, void* to, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)to)[i] += ((int*)from)[i];
}

static void for_all(void) {
  static const struct {
    MPI_Op operation;
    const char* name;
  } kOperations[] = {
      {MPI_MAX, "max"},   {MPI_MIN, "min"},   {MPI_SUM, "sum"}, {MPI_PROD, "prod"},
      {MPI_LAND, "land"}, {MPI_BAND, "band"}, {MPI_LOR, "lor"}, {MPI_BOR, "bor"},
      {MPI_LXOR, "lxor"}, {MPI_BXOR, "bxor"},
  };
  int counts[kMaxRanks], places[kMaxRanks], byte_places[kMaxRanks], sum = 0;
  MPI_Datatype types[kMaxRanks];
  MPI_Request request;
  for (int r = 0; r < size; ++r) {
    counts[r] = 2 * (r + 1), places[r] = sum, byte_places[r] = 4 * sum, sum += counts[r];
    types[r] = r % 2 == 0 ? MPI_INT : MPI_FLOAT;
  }
  for (size_t i = 0; i < sizeof kOperations / sizeof *kOperations; ++i) {
    MPI_Allreduce(out, in, (int)i + 1, MPI_INT, kOperations[i].operation, MPI_COMM_WORLD);
    all("MPI_Allreduce", 4 * ((int)i + 1), 4 * ((int)i + 1), kOperations[i].name, 0, -1, 0);
  }
  MPI_Op own;
  MPI_Op_create(add, 1, &own);
  MPI_Iallreduce(MPI_IN_PLACE, in, 5, MPI_INT, own, MPI_COMM_WORLD, &request);
  all("MPI_Iallreduce", 20, 20, "user", 1, -1, 0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Op_free(&own);
  MPI_Scan(out, in, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  all("MPI_Scan", 24, 24, "sum", 0, -1, 0);

  MPI_Allgather(out, 3, MPI_INT, in, 3, MPI_INT, MPI_COMM_WORLD);
  all("MPI_Allgather", 12, 12 * size, "-", 0, -1, 0);
  MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
  all("MPI_Allgatherv", 4 * counts[rank], 4 * sum, "-", 0, -1, size);
  for (int r = 0; r < size; ++r) block("MPI_Allgatherv", r, 0, 4 * counts[r]);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, MPI_COMM_WORLD);
  all("MPI_Alltoall", 8 * size, 8 * size, "-", 1, -1, 0);

  /* Only the next rank gets something, from each: most blocks are empty. */
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int sent[kMaxRanks] = {0}, received[kMaxRanks] = {0}, zeros[kMaxRanks] = {0};
  sent[right] = 10 * (rank + 1), received[left] = 10 * (left + 1);
  MPI_Alltoallv(out, sent, zeros, MPI_INT, in, received, zeros, MPI_INT, MPI_COMM_WORLD);
  all("MPI_Alltoallv", 4 * sent[right], 4 * received[left], "-", 0, -1, right == left ? 1 : 2);
  for (int r = 0; r < size; ++r)
    if (sent[r] != 0 || received[r] != 0) block("MPI_Alltoallv", r, 4 * sent[r], 4 * received[r]);
  int equal[kMaxRanks];
  for (int r = 0; r < size; ++r) equal[r] = 2;
  MPI_Alltoallw(out, equal, byte_places, types, in, equal, byte_places, types, MPI_COMM_WORLD);
  all("MPI_Alltoallw", 8 * size, 8 * size, "-", 0, -1, size);
  for (int r = 0; r < size; ++r) block("MPI_Alltoallw", r, 8, 8);

  MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  all("MPI_Reduce_scatter", 4 * sum, 4 * counts[rank], "min", 0, -1, 0);
  MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_PROD, MPI_COMM_WORLD);
  all("MPI_Reduce_scatter_block", 8 * size, 8, "prod", 0, -1, 0);
}

static void neighbours(void) {
  MPI_Comm ring, directed;
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  MPI_Neighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, ring);
  all("MPI_Neighbor_allgather", 12, 24, "-", 0, -1, 0);
  MPI_Neighbor_alltoall(out, 3, MPI_INT, in, 3, MPI_INT, ring);
  all("MPI_Neighbor_alltoall", 24, 24, "-", 0, -1, 0);
  /* Each rank sends to the next two, and receives from the last two. */
  const int to[2] = {(rank + 1) % size, (rank + 2) % size};
  const int from[2] = {(rank + size - 1) % size, (rank + 2 * size - 2) % size};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &directed);
  int counts[2] = {4, 6}, places[2] = {0, 4};
  MPI_Neighbor_allgatherv(out, 4, MPI_INT, in, (int[]){4, 4}, places, MPI_INT, directed);
  all("MPI_Neighbor_allgatherv", 16, 32, "-", 0, -1, 0);
  MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, directed);
  all("MPI_Neighbor_alltoallv", 40, 40, "-", 0, -1, 0);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&directed);

  /* A line has ends, where nobody is beyond. */
  const int open_ended = 0;
  MPI_Comm line;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open_ended, 0, &line);
  const int beside = (rank > 0) + (rank < size - 1);
  MPI_Neighbor_alltoall(out, 3, MPI_INT, in, 3, MPI_INT, line);
  all("MPI_Neighbor_alltoall", 12 * beside, 12 * beside, "-", 0, -1, 0);
  const int before = rank > 0 ? 4 : 0, after = rank < size - 1 ? 6 : 0;
  int line_places[2] = {0, 4};
  MPI_Neighbor_alltoallv(out, (int[]){before, after}, line_places, MPI_INT, in,
                         (int[]){before == 0 ? 0 : 6, after == 0 ? 0 : 4}, (int[]){0, 6}, MPI_INT,
                         line);
  all("MPI_Neighbor_alltoallv", 4 * (before + after),
      4 * ((before == 0 ? 0 : 6) + (after == 0 ? 0 : 4)), "-", 0, -1, 0);
  MPI_Comm_free(&line);

  /* A graph in which only rank 0 sends, to rank 1. A rank without neighbours needs no type, but
   * MPICH insists on one. */
#ifdef OPEN_MPI
  const MPI_Datatype none = MPI_DATATYPE_NULL;
#else
  const MPI_Datatype none = MPI_INT;
#endif
  MPI_Comm lonely;
  const int next = 1, first = 0, one = 1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 1, &first, MPI_UNWEIGHTED, rank == 0,
                                 &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &lonely);
  MPI_Neighbor_alltoallv(out, &one, places, rank == 0 ? MPI_INT : none, in, &one, places,
                         rank == 1 ? MPI_INT : none, lonely);
  all("MPI_Neighbor_alltoallv", rank == 0 ? 4 : 0, rank == 1 ? 4 : 0, "-", 0, -1, 0);
  MPI_Comm_free(&lonely);
}

/* Between the even and the odd ranks: sizes are those of the other group. */
static void between_groups(void) {
  MPI_Comm half, other;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 9, &other);
  int there = 0, here = 0, counts[kMaxRanks], places[kMaxRanks];
  MPI_Comm_remote_size(other, &there);
  MPI_Comm_rank(half, &here);
  const int root = rank % 2 == 1 ? 0 : here == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Bcast(in, 5, MPI_INT, root, other);
  all("MPI_Bcast", root == MPI_ROOT ? 20 : 0, rank % 2 == 1 ? 20 : 0, "-", 0,
      rank % 2 == 1 ? 0 : -1, 0);
  for (int r = 0; r < there; ++r) counts[r] = 2, places[r] = 2 * r;
  MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, other);
  all("MPI_Alltoallv", 8 * there, 8 * there, "-", 0, -1, there);
  for (int r = 0; r < there; ++r) block("MPI_Alltoallv", 2 * r + (rank % 2 == 0), 8, 8);
  MPI_Comm_free(&other);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2 || size < 2 || size > kMaxRanks) MPI_Abort(MPI_COMM_WORLD, 2);
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", argv[1], rank);
  said = fopen(path, "w");
  if (said == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int times = 0; times < 3; ++times) {
    receives();
    for (int root = 0; root < size; ++root) rooted(root);
    for_all();
    neighbours();
    between_groups();
  }
  fclose(said);
  MPI_Finalize();
  return 0;
}
