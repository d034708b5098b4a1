/* Ranks that never rest, for measurements of what is taken from them when every core is busy.
 *
 *   busy stencil SECONDS COLUMNS REPORT
 *       A five-point stencil on a grid of kRows rows a rank and so many columns, rows exchanged
 *       with the ranks above and below in each step. Two MPI_Wtime around each row's sweep, as
 *       codes do that time their kernels and as adaptive-mesh codes do all the time: 37 calls a
 *       step, of which 32 read the clock
 *   busy bandwidth SECONDS BYTES REPORT
 *       Rank 0 sends windows of 64 messages of so many bytes to rank 1, which answers each
 *       window: what osu_bw does
 *   busy touch BLOCKS CALLS REPORT
 *       So many times CALLS calls of MPI_Sendrecv, each of eight bytes to itself and after a
 *       little arithmetic (about half a million calls, so a million records, a second), with rests
 *       of 0.5 s between
 *
 * SECONDS are time enough for the result, not a limit: all ranks do the same number of steps.
 * REPORT.RANK then holds "steps calls seconds" of the measured part; of `touch` a line with the
 * same for each block.
 */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kRows = 16, kWindow = 64, kStepsApart = 1000, kSpins = 700 };

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int rank, size;

static double* grid_of(long columns) {
  double* grid = calloc((size_t)((kRows + 2) * columns), sizeof *grid);
  if (grid == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (long i = 0; i < (kRows + 2) * columns; ++i) grid[i] = (double)(i % 7);
  return grid;
}

/* Whether rank 0 has had enough: the same answer for all. */
static int is_over(double end) {
  int over = seconds_now() >= end;
  MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return over;
}

static void stencil(double seconds, long columns, FILE* report) {
  double *old = grid_of(columns), *fresh = grid_of(columns);
  const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  double in_sweeps = 0;
  long steps = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = seconds_now();
  do {
    for (int i = 0; i < kStepsApart; ++i, ++steps) {
      MPI_Request all[4];
      MPI_Irecv(old, (int)columns, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &all[0]);
      MPI_Irecv(old + (kRows + 1) * columns, (int)columns, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
                &all[1]);
      MPI_Isend(old + columns, (int)columns, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &all[2]);
      MPI_Isend(old + kRows * columns, (int)columns, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &all[3]);
      MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
      for (int row = 1; row <= kRows; ++row) {
        const double from = MPI_Wtime();
        const double* at = old + row * columns;
        for (long x = 1; x < columns - 1; ++x) {
          fresh[row * columns + x] =
              0.2 * (at[x] + at[x - 1] + at[x + 1] + at[x - columns] + at[x + columns]);
        }
        in_sweeps += MPI_Wtime() - from;
      }
      double* was = old;
      old = fresh;
      fresh = was;
    }
  } while (!is_over(begin + seconds));
  const double taken = seconds_now() - begin;
  fprintf(report, "%ld %ld %.9f\n", steps, steps * (5 + 2 * kRows), taken);
  if (in_sweeps < 0) printf("%f\n", old[columns]);
}

static void bandwidth(double seconds, long bytes, FILE* report) {
  char* data = calloc((size_t)bytes, kWindow);
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Request all[kWindow];
  char answer = 0;
  long windows = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = seconds_now();
  do {
    for (int i = 0; i < kStepsApart; ++i, ++windows) {
      if (rank == 0) {
        for (int k = 0; k < kWindow; ++k)
          MPI_Isend(data + k * bytes, (int)bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &all[k]);
        MPI_Waitall(kWindow, all, MPI_STATUSES_IGNORE);
        MPI_Recv(&answer, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (rank == 1) {
        for (int k = 0; k < kWindow; ++k)
          MPI_Irecv(data + k * bytes, (int)bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &all[k]);
        MPI_Waitall(kWindow, all, MPI_STATUSES_IGNORE);
        MPI_Send(&answer, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
      }
    }
  } while (!is_over(begin + seconds));
  fprintf(report, "%ld %ld %.9f\n", windows * kWindow, windows * (kWindow + 2),
          seconds_now() - begin);
}

static void touch(long blocks, long calls, FILE* report) {
  for (long block = 0; block < blocks; ++block) {
    const struct timespec rest = {0, 500000000};
    nanosleep(&rest, NULL);
    double out = 0, in = 0;
    const double begin = seconds_now();
    for (long i = 0; i < calls; ++i) {
      for (int k = 0; k < kSpins; ++k) out = out * 0.999999 + 1e-6;
      MPI_Sendrecv(&out, 1, MPI_DOUBLE, rank, 0, &in, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    }
    fprintf(report, "%ld %ld %.9f\n", calls, calls, seconds_now() - begin);
  }
}

int main(int argc, char** argv) {
  if (argc != 5) return fprintf(stderr, "busy: see the comment at the top of busy.c\n"), 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", argv[4], rank);
  FILE* report = fopen(path, "w");
  if (report == NULL) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (strcmp(argv[1], "stencil") == 0) {
    stencil(atof(argv[2]), atol(argv[3]), report);
  } else if (strcmp(argv[1], "bandwidth") == 0) {
    bandwidth(atof(argv[2]), atol(argv[3]), report);
  } else {
    touch(atol(argv[2]), atol(argv[3]), report);
  }
  MPI_Finalize();
  fclose(report);
  return 0;
}
