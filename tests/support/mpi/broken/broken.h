/* What the broken programs share. Each of them has one fault, which its head comment describes, and
 * runs for about five seconds on 4 ranks; two of them run longer. They read no options: the
 * parameters are the constants at their top.
 */

#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Not MPI_Wtime(), because xylem would record it as an MPI call. */
static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile double sink; /* Keeps the compiler from leaving the arithmetic out. */

/* Keeps a core busy until so much time has passed. */
static inline void compute_for(double seconds) {
  const double end = now() + seconds;
  double x = 1;
  while (now() < end) x = x * 0.999999 + 1e-6;
  sink = x;
}

/* Does a fixed amount of work: so many seconds of processor time. */
static inline void compute(double cpu_seconds) {
  const double end = cpu_now() + cpu_seconds;
  double x = 1;
  while (cpu_now() < end) x = x * 0.999999 + 1e-6;
  sink = x;
}

static inline void rest(double seconds) {
  struct timespec t = {(time_t)seconds, 0};
  t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
  nanosleep(&t, NULL);
}

static int rank, size;

static inline void start(int* count, char*** arguments, int ranks_needed) {
  MPI_Init(count, arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size >= ranks_needed) return;
  fprintf(stderr, "at least %d ranks are needed\n", ranks_needed);
  MPI_Abort(MPI_COMM_WORLD, 2);
}
