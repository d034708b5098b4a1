/* A PMPI tool: counts calls and says at MPI_Finalize what it has seen. Linked into a program,
 * preloaded or linked as a library. With TOOL_BY_NEXT it calls the next MPI_X in line instead. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static long seen, seen_sends, seen_clocks;
static int tool_rank;

#ifdef TOOL_BY_NEXT
#define NEXT(function, ...) \
  ((__typeof__(&MPI_##function))dlsym(RTLD_NEXT, "MPI_" #function))(__VA_ARGS__)
#else
#define NEXT(function, ...) PMPI_##function(__VA_ARGS__)
#endif

int MPI_Init(int* count, char*** arguments) {
  ++seen;
  return NEXT(Init, count, arguments);
}

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  ++seen;
  const int result = NEXT(Comm_rank, comm, rank);
  if (comm == MPI_COMM_WORLD) tool_rank = *rank;
  return result;
}

double MPI_Wtime(void) {
  ++seen;
  ++seen_clocks;
  return NEXT(Wtime);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++seen;
  return NEXT(Bcast, buffer, count, type, root, comm);
}

int MPI_Sendrecv(const void* given, int count, MPI_Datatype type, int to, int tag, void* got,
                 int room, MPI_Datatype got_type, int from, int got_tag, MPI_Comm comm,
                 MPI_Status* status) {
  ++seen;
  ++seen_sends;
  return NEXT(Sendrecv, given, count, type, to, tag, got, room, got_type, from, got_tag, comm,
              status);
}

int MPI_Finalize(void) {
  char line[128];
  ++seen;
  const int result = NEXT(Finalize);
  const int length =
      snprintf(line, sizeof line, "tool of rank %d: %ld calls, %ld messages, %ld clocks\n",
               tool_rank, seen, seen_sends, seen_clocks);
  if (write(1, line, (size_t)length) != length) return -1;
  return result;
}
