/* What a call costs: times batches of one MPI function on one rank.
 *
 *   calls_per_second FUNCTION CALLS
 *
 * FUNCTION is clock (two reads of the time-stamp counter, no MPI), rank, iprobe or sendrecv. For
 * each line on standard input makes a batch of CALLS calls and prints the time of one in ns; "-"
 * ends it. So a driver can empty the ring between batches and let several such programs take turns.
 */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* Of others' turns nothing is charged. */
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static volatile uint64_t sink;

static uint64_t stamp(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return (uint64_t)now();
#endif
}

static void batch(const char* function, long calls) {
  int rank = 0, flag = 0, in = 0, out = 0;
  if (strcmp(function, "clock") == 0) {
    for (long i = 0; i < calls; ++i) sink = stamp(), sink = stamp();
  } else if (strcmp(function, "rank") == 0) {
    for (long i = 0; i < calls; ++i) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  } else if (strcmp(function, "iprobe") == 0) {
    for (long i = 0; i < calls; ++i)
      MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  } else {
    for (long i = 0; i < calls; ++i)
      MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
  }
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const char* function = arguments[1];
  const long calls = atol(arguments[2]);
  char line[16];
  MPI_Init(&count, &arguments);
  batch(function, calls < 1000 ? calls : 1000);
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL && line[0] != '-') {
    const double begin = now();
    batch(function, calls);
    printf("%.3f\n", (now() - begin) / (double)calls);
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
