#pragma once

/* A program's own count of its MPI calls and messages, independent of any tool. Tests compare it
 * with the data that xylem has stored.
 *
 *   OWN(MPI_Send, (buffer, 4, MPI_INT, dest, tag, MPI_COMM_WORLD));   counts the call and makes it
 *   own_sent(world_rank_of_dest, bytes);                              counts payload sent there
 *   own_received(world_rank_of_source, bytes);                        counts payload from there
 *   own_bytes(OWN_ID(MPI_Bcast), bytes);                              counts this rank's payload
 *
 * Every thread calls own_begin_thread before its first MPI call and own_end_thread after its last.
 * At the end one thread calls own_write(prefix, rank), which writes PREFIX.RANK.tsv with the lines
 *
 *   call     RANK FUNCTION COUNT
 *   send     RANK DEST MESSAGES BYTES
 *   receive  RANK SOURCE MESSAGES BYTES
 *   bytes    RANK FUNCTION BYTES          only for functions with a call of own_bytes
 */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define OWN_FUNCTIONS(X) \
  X(MPI_Init) X(MPI_Init_thread) X(MPI_Finalize) X(MPI_Initialized) X(MPI_Finalized) \
  X(MPI_Abort) X(MPI_Wtime) X(MPI_Comm_rank) X(MPI_Comm_size) X(MPI_Comm_dup) X(MPI_Comm_idup) \
  X(MPI_Comm_split) X(MPI_Comm_free) X(MPI_Comm_group) X(MPI_Group_free) X(MPI_Group_incl) \
  X(MPI_Comm_create) X(MPI_Intercomm_create) X(MPI_Intercomm_merge) X(MPI_Cart_create) \
  X(MPI_Dist_graph_create_adjacent) X(MPI_Comm_set_errhandler) X(MPI_Send) X(MPI_Bsend) \
  X(MPI_Ssend) X(MPI_Rsend) X(MPI_Isend) X(MPI_Issend) X(MPI_Recv) X(MPI_Irecv) X(MPI_Sendrecv) \
  X(MPI_Sendrecv_replace) X(MPI_Isendrecv) X(MPI_Send_init) X(MPI_Recv_init) X(MPI_Start) \
  X(MPI_Startall) X(MPI_Request_free) X(MPI_Cancel) X(MPI_Probe) X(MPI_Iprobe) X(MPI_Mprobe) \
  X(MPI_Improbe) X(MPI_Mrecv) X(MPI_Imrecv) X(MPI_Wait) X(MPI_Waitall) X(MPI_Waitany) \
  X(MPI_Waitsome) X(MPI_Test) X(MPI_Testall) X(MPI_Testany) X(MPI_Testsome) \
  X(MPI_Request_get_status) X(MPI_Test_cancelled) X(MPI_Get_count) X(MPI_Type_vector) \
  X(MPI_Type_commit) X(MPI_Type_free) X(MPI_Type_create_struct) X(MPI_Buffer_attach) \
  X(MPI_Buffer_detach) X(MPI_Barrier) X(MPI_Ibarrier) X(MPI_Bcast) X(MPI_Ibcast) \
  X(MPI_Bcast_init) X(MPI_Gather) X(MPI_Gatherv) X(MPI_Scatter) X(MPI_Scatterv) \
  X(MPI_Allgather) X(MPI_Allgatherv) X(MPI_Alltoall) X(MPI_Alltoallv) X(MPI_Alltoallw) \
  X(MPI_Reduce) X(MPI_Allreduce) X(MPI_Iallreduce) X(MPI_Scan) X(MPI_Exscan) \
  X(MPI_Reduce_scatter) X(MPI_Reduce_scatter_block) X(MPI_Reduce_local) \
  X(MPI_Neighbor_allgather) X(MPI_Neighbor_alltoall) X(MPI_Neighbor_alltoallv) X(MPI_Send_c) \
  X(MPI_Recv_c) X(MPI_Gatherv_c) X(MPI_Comm_test_inter) \
  X(MPI_Win_create) X(MPI_Win_fence) X(MPI_Put) X(MPI_Get) X(MPI_Accumulate) X(MPI_Win_lock) \
  X(MPI_Rput) X(MPI_Rget) X(MPI_Get_accumulate) X(MPI_Win_flush) X(MPI_Fetch_and_op) \
  X(MPI_Win_flush_local) X(MPI_Compare_and_swap) X(MPI_Win_unlock) X(MPI_Win_lock_all) \
  X(MPI_Win_sync) X(MPI_Win_flush_all) X(MPI_Win_unlock_all) X(MPI_Win_post) X(MPI_Win_start) \
  X(MPI_Win_complete) X(MPI_Win_wait) X(MPI_Win_free) X(MPI_Win_allocate) X(MPI_File_open) \
  X(MPI_File_write_at_all) X(MPI_File_sync) X(MPI_File_read_at) X(MPI_File_seek) \
  X(MPI_File_read) X(MPI_File_write) X(MPI_File_iread_at) X(MPI_File_iwrite_at) \
  X(MPI_File_write_at_all_begin) X(MPI_File_write_at_all_end) X(MPI_File_close)
/* clang-format on */

#define OWN_ID(function) own_##function
#define OWN_ENUM(function) OWN_ID(function),
#define OWN_NAME(function) #function,
#define OWN(function, arguments) (own_call(OWN_ID(function)), function arguments)

enum own_function { OWN_FUNCTIONS(OWN_ENUM) own_functions };
static const char* const own_names[] = {OWN_FUNCTIONS(OWN_NAME)};

enum { own_ranks = 1024 };

struct own_counts {
  uint64_t calls[own_functions];
  uint64_t bytes[own_functions];
  char has_bytes[own_functions];
  uint64_t sent[own_ranks], sent_bytes[own_ranks];
  uint64_t received[own_ranks], received_bytes[own_ranks];
};

static struct own_counts own_total;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct own_counts* own_here;

static inline void own_begin_thread(void) {
  own_here = (struct own_counts*)calloc(1, sizeof *own_here);
  if (own_here == NULL) abort();
}

static inline void own_end_thread(void) {
  pthread_mutex_lock(&own_lock);
  for (int f = 0; f < own_functions; ++f) {
    own_total.calls[f] += own_here->calls[f];
    own_total.bytes[f] += own_here->bytes[f];
    own_total.has_bytes[f] |= own_here->has_bytes[f];
  }
  for (int r = 0; r < own_ranks; ++r) {
    own_total.sent[r] += own_here->sent[r];
    own_total.sent_bytes[r] += own_here->sent_bytes[r];
    own_total.received[r] += own_here->received[r];
    own_total.received_bytes[r] += own_here->received_bytes[r];
  }
  pthread_mutex_unlock(&own_lock);
  free(own_here);
  own_here = NULL;
}

static inline void own_call(enum own_function function) { ++own_here->calls[function]; }

static inline void own_sent(int dest, uint64_t bytes) {
  ++own_here->sent[dest];
  own_here->sent_bytes[dest] += bytes;
}

static inline void own_received(int source, uint64_t bytes) {
  ++own_here->received[source];
  own_here->received_bytes[source] += bytes;
}

static inline void own_bytes(enum own_function function, uint64_t bytes) {
  own_here->has_bytes[function] = 1;
  own_here->bytes[function] += bytes;
}

static inline void own_write(const char* prefix, int rank) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%d.tsv", prefix, rank);
  FILE* out = fopen(path, "w");
  if (out == NULL) {
    perror(path);
    exit(1);
  }
  for (int f = 0; f < own_functions; ++f) {
    if (own_total.calls[f] != 0)
      fprintf(out, "call\t%d\t%s\t%llu\n", rank, own_names[f],
              (unsigned long long)own_total.calls[f]);
    if (own_total.has_bytes[f])
      fprintf(out, "bytes\t%d\t%s\t%llu\n", rank, own_names[f],
              (unsigned long long)own_total.bytes[f]);
  }
  for (int r = 0; r < own_ranks; ++r) {
    if (own_total.sent[r] != 0)
      fprintf(out, "send\t%d\t%d\t%llu\t%llu\n", rank, r, (unsigned long long)own_total.sent[r],
              (unsigned long long)own_total.sent_bytes[r]);
    if (own_total.received[r] != 0)
      fprintf(out, "receive\t%d\t%d\t%llu\t%llu\n", rank, r,
              (unsigned long long)own_total.received[r],
              (unsigned long long)own_total.received_bytes[r]);
  }
  fclose(out);
}
