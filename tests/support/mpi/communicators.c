/* Makes communicators in many ways, and says what each one is. With an argument, only makes and
 * frees so many copies of MPI_COMM_WORLD.
 *
 * For each communicator, each member writes a line into the file said.RANK
 *
 *   comm LABEL INSTANCE KIND PARENT RANK PLACE SIDE SIZE SECOND_SIZE
 *
 * and then calls MPI_Allreduce with LABEL bytes on it, so its records can be told from the bytes.
 * One call may make several communicators; they differ in INSTANCE. PARENT is the label of the
 * communicator from which it was made, 0 for MPI_COMM_WORLD, -1 for none, -2 for MPI_COMM_SELF.
 * KIND `unknown` means that nobody can be sure of its identity. RANK is the rank in MPI_COMM_WORLD.
 * Further lines are
 *
 *   name LABEL INSTANCE TEXT
 *   grid LABEL SIZE,SIZE... PERIODIC,PERIODIC...
 *   neighbour LABEL RANK source|destination POSITION NEIGHBOUR
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kPending = 3, kLoops = 60, kLargest = 256 };

static int rank, ranks;

/* Says what `comm` is, and uses it. `side` is 0 or 1 in an intercommunicator. */
static void tell(int label, int instance, const char* kind, int parent, int side, MPI_Comm comm) {
  int place = 0, size = 0, second = 0;
  MPI_Comm_rank(comm, &place);
  MPI_Comm_size(comm, &size);
  int is_inter = 0;
  MPI_Comm_test_inter(comm, &is_inter);
  if (is_inter) MPI_Comm_remote_size(comm, &second);
  const int first = side == 0 ? size : second;
  printf("comm %d %d %s %d %d %d %d %d %d\n", label, instance, kind, parent, rank, place, side,
         first, side == 0 ? second : size);
  unsigned char from[kLargest] = {0}, to[kLargest];
  MPI_Allreduce(from, to, label, MPI_BYTE, MPI_BOR, comm);
}

static void simple(void) {
  MPI_Comm dup, half, some, evens, again, type;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  tell(1, 0, "intra", 0, 0, dup);
  MPI_Comm_split(dup, rank % 2, -rank, &half);
  tell(2, rank % 2, "intra", 1, 0, half);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 5, rank, &some);
  if (some != MPI_COMM_NULL) tell(3, 0, "intra", 0, 0, some);

  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int members[kLargest];
  const int count = (ranks + 1) / 2;
  for (int i = 0; i < count; ++i) members[i] = 2 * (count - 1 - i);
  MPI_Group_incl(world, count, members, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &evens);
  if (evens != MPI_COMM_NULL) tell(4, 0, "intra", 0, 0, evens);
  /* Not all ranks are members of the two before. */
  MPI_Comm_dup(MPI_COMM_WORLD, &again);
  tell(5, 0, "intra", 0, 0, again);
  MPI_Comm_split_type(half, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &type);
  tell(6, rank % 2, "intra", 2, 0, type);
  MPI_Comm_set_name(again, "the second copy");
  printf("name 5 0 the second copy\n");

  /* Only the members of the group call this one. */
  if (rank % 2 == 0) {
    MPI_Comm by_group, twice;
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &by_group);
    tell(7, 0, "intra", 0, 0, by_group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &twice);
    tell(8, 0, "intra", 0, 0, twice);
    MPI_Comm_free(&by_group);
    MPI_Comm_free(&twice);
  }
  MPI_Comm mine;
  MPI_Comm_dup(MPI_COMM_SELF, &mine);
  tell(9, rank, "intra", -2, 0, mine);

  if (evens != MPI_COMM_NULL) MPI_Comm_free(&evens);
  if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
  MPI_Comm* all[] = {&dup, &half, &again, &type, &mine};
  for (int i = 0; i < 5; ++i) MPI_Comm_free(all[i]);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

/* Several are pending, from two parents with equal members. The ranks complete them in different
 * orders, and start those of different parents in different orders. */
static void pending(void) {
  MPI_Comm other, made[2][kPending];
  MPI_Request requests[2][kPending];
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  tell(20, 0, "intra", 0, 0, other);
  for (int p = 0; p < 2; ++p) {
    const int parent = rank % 2 == 0 ? p : 1 - p;
    for (int i = 0; i < kPending; ++i)
      MPI_Comm_idup(parent == 0 ? MPI_COMM_WORLD : other, &made[parent][i], &requests[parent][i]);
  }
  for (int i = 0; i < 2 * kPending; ++i) {
    const int at = (i + rank) % (2 * kPending);
    MPI_Wait(&requests[at % 2][at / 2], MPI_STATUS_IGNORE);
  }
  for (int parent = 0; parent < 2; ++parent) {
    for (int i = 0; i < kPending; ++i) {
      tell(21 + parent * kPending + i, 0, "intra", parent == 0 ? 0 : 20, 0, made[parent][i]);
      MPI_Comm_free(&made[parent][i]);
    }
  }
  MPI_Comm_free(&other);
}

static void grids(void) {
  MPI_Comm grid, row;
  const int sizes[2] = {ranks / 2, 2}, periods[2] = {1, 0}, keep[2] = {0, 1};
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 1, &grid);
  if (grid == MPI_COMM_NULL) return;
  tell(40, 0, "cartesian", 0, 0, grid);
  if (rank == 0) printf("grid 40 %d,%d 1,0\n", sizes[0], sizes[1]);
  MPI_Cart_sub(grid, keep, &row);
  int place = 0, coordinates[2];
  MPI_Comm_rank(grid, &place);
  MPI_Cart_coords(grid, place, 2, coordinates);
  tell(41, coordinates[0], "cartesian", 40, 0, row);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
}

/* A ring: each rank has two neighbours in the first graph, and one on each side in the second. */
static void graphs(void) {
  MPI_Comm ring, directed;
  int ends[kLargest], edges[2 * kLargest];
  for (int r = 0; r < ranks; ++r) {
    ends[r] = 2 * (r + 1);
    edges[2 * r] = (r + 1) % ranks;
    edges[2 * r + 1] = (r + ranks - 1) % ranks;
  }
  MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, edges, 0, &ring);
  tell(42, 0, "graph", 0, 0, ring);
  for (int i = 0; i < 2; ++i) {
    printf("neighbour 42 %d source %d %d\n", rank, i, edges[2 * rank + i]);
    printf("neighbour 42 %d destination %d %d\n", rank, i, edges[2 * rank + i]);
  }
  const int source = (rank + ranks - 1) % ranks, destination = (rank + 1) % ranks;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &source, MPI_UNWEIGHTED, 1, &destination,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &directed);
  tell(43, 0, "distributed_graph", 0, 0, directed);
  printf("neighbour 43 %d source 0 %d\n", rank, source);
  printf("neighbour 43 %d destination 0 %d\n", rank, destination);
  MPI_Comm_free(&directed);
  MPI_Comm_free(&ring);
}

/* Which side is the first one is xylem's choice, so SIDE is that of rank 0's group. */
static void intercommunicators(void) {
  MPI_Comm half, inter, copy, merged;
  const int side = rank % 2;
  MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
  tell(50, side, "intra", 0, 0, half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 9, &inter);
  tell(51, 0, "inter", -1, side, inter);
  MPI_Comm_dup(inter, &copy);
  tell(52, 0, "inter", 51, side, copy);
  MPI_Intercomm_merge(copy, side, &merged);
  tell(53, 0, "intra", 52, 0, merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

/* A call that fails, on a communicator of its own: nobody knows whether it has failed everywhere.
 */
static void failing(void) {
  MPI_Comm parent, never, child, other;
  MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
  const int too_many = 1000000, period = 0;
  if (MPI_Cart_create(parent, 1, &too_many, &period, 0, &never) == MPI_SUCCESS)
    printf("unexpected success\n");
  MPI_Comm_dup(parent, &child);
  tell(70, 0, "unknown", 0, 0, child);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  tell(71, 0, "intra", 0, 0, other);
  MPI_Comm_free(&other);
  MPI_Comm_free(&child);
  MPI_Comm_free(&parent);
}

/* MPI uses their handles again. */
static void many(int count) {
  for (int i = 0; i < count; ++i) {
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    if (i == kLoops - 1) tell(60, 0, "intra", 0, 0, dup);
    MPI_Comm_free(&dup);
  }
}

/* Two halves of the world connect to each other; then all start two more processes. */
static void dynamic(const char* program) {
  MPI_Comm half, inter, more, all;
  char port[MPI_MAX_PORT_NAME] = "";
  const int side = rank % 2;
  MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (side == 0)
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
  else
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
  MPI_Comm_disconnect(&inter);
  MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &more,
                 MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(more, 0, &all);
  MPI_Barrier(all);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&more);
  MPI_Comm_free(&half);
}

static void spawned(MPI_Comm parent) {
  MPI_Comm all;
  MPI_Intercomm_merge(parent, 1, &all);
  MPI_Barrier(all);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&parent);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  /* Lines of several ranks on one standard output may be mixed. */
  char said[32];
  snprintf(said, sizeof said, "said.%d", rank);
  if (argc == 1 && freopen(said, "w", stdout) == NULL) return 1;
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    spawned(parent);
  } else if (argc > 1 && strcmp(argv[1], "dynamic") == 0) {
    dynamic(argv[0]);
  } else if (argc > 1) {
    many(atoi(argv[1]));
  } else {
    simple();
    pending();
    grids();
    graphs();
    intercommunicators();
    failing();
    many(kLoops);
  }
  MPI_Finalize();
  return 0;
}
