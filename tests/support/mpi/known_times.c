/* A program whose efficiencies are known by construction. "Computing" is waiting for a clock, so it
 * takes as long as said even where many ranks share a processor.
 *
 *   known_times uneven ROUNDS SLOW_MS FAST_MS
 *
 * In each round, rank 0 computes for SLOW_MS and the others for FAST_MS. Then all meet in
 * MPI_Barrier.
 *
 *   known_times turn ROUNDS MS
 *
 * In each round, one rank after the other computes for MS: a rank starts when it has received the
 * token of the rank before.
 *
 *   known_times burn ROUNDS MS
 *
 * The same, but computing keeps a processor busy until the thread has had it for MS.
 *
 *   known_times after ROUNDS MS REST_MS
 *
 * In each round, all compute for MS and meet. After MPI_Finalize, rank 0 goes on for REST_MS.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void compute(double ms) {
  const double end = now() + 1e-3 * ms;
  /* Processors are left to the ranks that wait, so that they notice at once when a wait is over. */
  const struct timespec nap = {0, 200000};
  while (now() < end) nanosleep(&nap, NULL);
}

static void burn(double ms) {
  struct timespec begin, t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  } while ((t.tv_sec - begin.tv_sec) * 1e3 + (t.tv_nsec - begin.tv_nsec) * 1e-6 < ms);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int rounds = atoi(argv[2]);
  const double first = atof(argv[3]), second = argc > 4 ? atof(argv[4]) : 0;
  int rank, size, token = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < rounds; ++round) {
    const int burns = strcmp(argv[1], "burn") == 0;
    if (burns || strcmp(argv[1], "turn") == 0) {
      if (round > 0 || rank > 0) {
        MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      }
      burns ? burn(first) : compute(first);
      if (round < rounds - 1 || rank < size - 1) {
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD);
      }
    } else {
      compute(strcmp(argv[1], "uneven") == 0 && rank > 0 ? second : first);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (strcmp(argv[1], "after") == 0 && rank == 0) compute(second);
  return 0;
}
