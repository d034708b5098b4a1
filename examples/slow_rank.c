// A job with a slow rank. Each step ends when rank 0 has sent a message to each other rank, and
// rank 0 computes longer than the other ranks. The page of `xylem view` shows which rank waits for
// which.
//
//   mpicc -O2 -o slow_rank slow_rank.c
//   xylem run --detail trace --store slow.db -- mpirun -n 4 ./slow_rank [SECONDS]

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/// Does not use MPI_Wtime, because xylem would record it as an MPI call.
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// Computes for this time. The caller uses the result, so that the compiler keeps the loop.
static double compute(double seconds) {
  const double end = now() + seconds;
  double sum = 0;
  while (now() < end) sum += 1 / (1 + sum);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double seconds = argc > 1 ? atof(argv[1]) : 20;

  double result = 0;
  double go_on = 1;
  const double begin = now();
  while (go_on != 0) {
    if (rank == 0) {
      result += compute(0.04);
      go_on = now() - begin < seconds;
      for (int to = 1; to < size; ++to) MPI_Send(&go_on, 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD);
    } else {
      result += compute(rank == size - 1 ? 0.002 : 0.03);  // The last rank waits longest.
      MPI_Recv(&go_on, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  double sum = 0;
  MPI_Reduce(&result, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("slow_rank: %g\n", sum);
  MPI_Finalize();
  return 0;
}
