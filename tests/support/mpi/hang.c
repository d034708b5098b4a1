/* A job that hangs for a while: rank 0 computes, and all others wait for its message.
 *
 *   hang SECONDS PREFIX [REST]
 *
 * All ranks meet, and make no call for REST seconds. Then each rank but 0 writes the times of
 * CLOCK_MONOTONIC just before and just after its receive into PREFIX.RANK, each in a line, as soon
 * as it knows it. Rank 0 computes for at least so many seconds, and until there is a file
 * PREFIX.end.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const long long ns = (long long)(atof(arguments[1]) * 1e9);
  char path[4096];
  int rank, size, token = 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (count > 3) sleep((unsigned)atoi(arguments[3]));
  if (rank == 0) {
    const long long end = now() + ns;
    snprintf(path, sizeof path, "%s.end", arguments[2]);
    while (now() < end || access(path, F_OK) != 0) continue;
    for (int other = 1; other < size; ++other) {
      MPI_Send(&token, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    }
  } else {
    snprintf(path, sizeof path, "%s.%d", arguments[2], rank);
    FILE* file = fopen(path, "w");
    if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    fprintf(file, "%lld\n", now());
    fflush(file);
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fprintf(file, "%lld\n", now());
    fclose(file);
  }
  MPI_Finalize();
  return 0;
}
