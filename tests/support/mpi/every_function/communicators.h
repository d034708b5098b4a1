#pragma once

/* Calls that make, name and free communicators. */

#include "every_function.h"

static void free_comm(MPI_Comm* comm, const char* name) {
  CALL(MPI_Comm_free, (comm), "comm=%s", name);
}

static void copies(void) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request request;
  CALL(MPI_Comm_dup, (MPI_COMM_WORLD, &made), "comm=dup");
  CALL(MPI_Comm_set_name, (made, "named"), "comm=dup");
  free_comm(&made, "dup");
  CALL(MPI_Comm_dup_with_info, (MPI_COMM_WORLD, MPI_INFO_NULL, &made), "comm=dup_with_info");
  CALL(MPI_Comm_disconnect, (&made), "comm=dup_with_info");
  CALL(MPI_Comm_idup, (MPI_COMM_WORLD, &made, &request), "request=%d stage=start", next_id());
  complete(&request, "comm=world");
  CALL(MPI_Barrier, (made), "received_bytes=0 comm=idup number=collective");
  free_comm(&made, "idup");
#if MPI_VERSION >= 4
  CALL(MPI_Comm_idup_with_info, (MPI_COMM_WORLD, MPI_INFO_NULL, &made, &request),
       "request=%d stage=start", next_id());
  complete(&request, "comm=world");
  free_comm(&made, "idup_with_info");
#endif
}

/* Even ranks in one, odd ranks in the other. A peer is a rank of MPI_COMM_WORLD, also between them.
 */
static void halves(void) {
  MPI_Comm half, between, merged;
  MPI_Group group;
  int members = 0;
  const int odd = rank % 2, half_rank = rank / 2;
  CALL(MPI_Comm_split, (MPI_COMM_WORLD, odd, rank, &half), "comm=half%d", odd);
  CALL(MPI_Sendrecv,
       (out, 5, MPI_INT, !half_rank, 7, in, 5, MPI_INT, !half_rank, 7, half, MPI_STATUS_IGNORE),
       "peer=%d tag=7 bytes=20 comm=half%d number=send", (rank + 2) % size, odd);
  PART("peer=%d tag=7 bytes=20 posted_bytes=20 comm=half%d number=receive", (rank + 2) % size, odd);
  CALL(MPI_Bcast, (buffer, 5, MPI_INT, 1, half),
       "peer=%d bytes=%d received_bytes=%d comm=half%d number=collective", 2 + odd,
       half_rank == 1 ? 20 : 0, half_rank == 1 ? 0 : 20, odd);
  CALL(MPI_Intercomm_create, (half, 0, MPI_COMM_WORLD, !odd, 7, &between), "comm=between");
  CALL(MPI_Sendrecv,
       (out, 5, MPI_INT, half_rank, 7, in, 5, MPI_INT, half_rank, 7, between, MPI_STATUS_IGNORE),
       "peer=%d tag=7 bytes=20 comm=between number=send", rank ^ 1);
  PART("peer=%d tag=7 bytes=20 posted_bytes=20 comm=between number=receive", rank ^ 1);
  CALL(MPI_Allgather, (out, 5, MPI_INT, in, 5, MPI_INT, between),
       "bytes=20 received_bytes=40 comm=between number=collective");
  CALL(MPI_Comm_remote_size, (between, &members));
  CALL(MPI_Comm_remote_group, (between, &group));
  CALL(MPI_Group_free, (&group));
  CALL(MPI_Intercomm_merge, (between, odd, &merged), "comm=merged");
  free_comm(&merged, "merged");
  free_comm(&between, "between");
  CALL(MPI_Comm_free, (&half), "comm=half%d", odd);
  /* A communicator in which this rank is not. */
  CALL(MPI_Comm_split, (MPI_COMM_WORLD, odd ? MPI_UNDEFINED : 0, rank, &half), "%s",
       odd ? "" : "comm=evens");
  if (!odd) free_comm(&half, "evens");
}

static void of_groups(void) {
  MPI_Group all, three;
  MPI_Comm made = MPI_COMM_NULL;
  const int ranks[3] = {3, 1, 0};
  CALL(MPI_Comm_group, (MPI_COMM_WORLD, &all));
  CALL(MPI_Group_incl, (all, 3, ranks, &three));
  CALL(MPI_Comm_create, (MPI_COMM_WORLD, three, &made), "%s", rank == 2 ? "" : "comm=three");
  if (rank != 2) {
    CALL(MPI_Bcast, (buffer, 5, MPI_INT, 0, made),
         "peer=3 bytes=%d received_bytes=%d comm=three number=collective", rank == 3 ? 20 : 0,
         rank == 3 ? 0 : 20);
    free_comm(&made, "three");
    CALL(MPI_Comm_create_group, (MPI_COMM_WORLD, three, 7, &made), "comm=by_group");
    free_comm(&made, "by_group");
  }
  CALL(MPI_Group_free, (&three));
  CALL(MPI_Group_free, (&all));
  CALL(MPI_Comm_split_type, (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made),
       "comm=node");
  free_comm(&made, "node");
}

static void topologies(void) {
  MPI_Comm grid, column, graph;
  const int dims[2] = {2, 2}, periods[2] = {1, 0}, remain[2] = {1, 0};
  const int degree[1] = {1}, index[4] = {1, 2, 3, 4}, edges[4] = {1, 0, 3, 2};
  int number = 0, two[2], coords[2], is_periodic[2], status = 0, one[4], weights[4], other = 0;
  CALL(MPI_Cart_create, (MPI_COMM_WORLD, 2, dims, periods, 0, &grid), "comm=grid");
  CALL(MPI_Cartdim_get, (grid, &number));
  CALL(MPI_Cart_get, (grid, 2, two, is_periodic, coords));
  CALL(MPI_Cart_rank, (grid, coords, &number));
  CALL(MPI_Cart_coords, (grid, rank, 2, coords));
  CALL(MPI_Cart_shift, (grid, 0, 1, &number, &other));
  CALL(MPI_Cart_map, (MPI_COMM_WORLD, 2, dims, periods, &number));
  CALL(MPI_Topo_test, (grid, &status));
  /* Both places of a direction of two ranks are the same neighbour; the other direction has a
   * border. */
  CALL(MPI_Neighbor_alltoall, (out, 5, MPI_INT, in, 5, MPI_INT, grid),
       "bytes=60 received_bytes=60 comm=grid number=collective");
  CALL(MPI_Cart_sub, (grid, remain, &column), "comm=column%d", rank % 2);
  CALL(MPI_Comm_free, (&column), "comm=column%d", rank % 2);
  free_comm(&grid, "grid");

  CALL(MPI_Graph_create, (MPI_COMM_WORLD, 4, index, edges, 0, &graph), "comm=graph");
  CALL(MPI_Graphdims_get, (graph, &number, &other));
  CALL(MPI_Graph_get, (graph, 4, 4, one, weights));
  CALL(MPI_Graph_neighbors_count, (graph, rank, &number));
  CALL(MPI_Graph_neighbors, (graph, rank, 1, one));
  CALL(MPI_Graph_map, (MPI_COMM_WORLD, 4, index, edges, &number));
  CALL(MPI_Neighbor_allgather, (out, 5, MPI_INT, in, 5, MPI_INT, graph),
       "bytes=20 received_bytes=20 comm=graph number=collective");
  free_comm(&graph, "graph");

  CALL(MPI_Dist_graph_create,
       (MPI_COMM_WORLD, 1, &rank, degree, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
       "comm=dist_graph");
  CALL(MPI_Dist_graph_neighbors_count, (graph, &number, &other, &status));
  CALL(MPI_Dist_graph_neighbors, (graph, 1, one, weights, 1, two, weights + 2));
  CALL(MPI_Neighbor_alltoallv,
       (out, two_and_three, wide_places, MPI_INT, in, two_and_three, wide_places, MPI_INT, graph),
       "bytes=8 received_bytes=8 comm=dist_graph number=collective");
  free_comm(&graph, "dist_graph");
  CALL(MPI_Dist_graph_create_adjacent,
       (MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
        &graph),
       "comm=adjacent");
  free_comm(&graph, "adjacent");
}

static void communicators(void) {
  copies();
  halves();
  of_groups();
  topologies();
}
