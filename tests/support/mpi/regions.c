/* Regions with a known number of visits and a known time.
 *
 *   regions PREFIX SECONDS
 *
 * Each rank names nested regions, in two threads if MPI grants MPI_THREAD_MULTIPLE, and levels of
 * MPI_Pcontrol. It writes PREFIX.RANK, a line for each region: NAME|VISITS|INSIDE|AROUND|MPI, in
 * nanoseconds: the time inside of the visits, the time around them, and the time around the calls
 * of MPI inside. So the true time is between the first two, and the time in MPI below the third.
 * At the end, rank 0 is in the region "last" for SECONDS, in which it waits for a message that rank
 * 1 sends from the region "late". */

#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/region/region.h"

enum { kNames = 400, kBytes = 1 << 20 };
struct sum {
  char name[64];
  long visits;
  long long inside_ns, around_ns, mpi_ns;
};
static struct sum sums[kNames];
static int count;
static __thread int tag = 3; /* Each thread has messages of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void work(long long ns) {
  const long long end = now() + ns;
  while (now() < end) {
  }
}

static void add(const char* name, long long inside_ns, long long around_ns, long long mpi_ns) {
  int i = 0;
  pthread_mutex_lock(&lock);
  while (i < count && strcmp(sums[i].name, name) != 0) ++i;
  if (i == count) strcpy(sums[count++].name, name);
  ++sums[i].visits;
  sums[i].inside_ns += inside_ns;
  sums[i].around_ns += around_ns;
  sums[i].mpi_ns += mpi_ns;
  pthread_mutex_unlock(&lock);
}

/* Calls MPI for about `ns`; returns the time that the calls took. They take long, so that what
 * measures them takes little. */
static long long call_mpi(long long ns) {
  char *buffer = calloc(1, kBytes), *from = malloc(kBytes);
  long long sum = 0;
  const long long end = now() + ns;
  while (now() < end) {
    const long long before = now();
    MPI_Sendrecv(buffer, kBytes, MPI_BYTE, 0, tag, from, kBytes, MPI_BYTE, 0, tag, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    sum += now() - before;
  }
  free(buffer);
  free(from);
  return sum;
}

/* A region with a part of its own, a part in MPI, and a region inside. Returns the time in MPI. */
static long long visit(const char* name, const char* inner, int depth) {
  const long long before = now();
  xylem_region_begin(name);
  const long long begun = now();
  work(2000000);
  long long in_mpi = call_mpi(2000000);
  if (depth > 0) in_mpi += visit(inner, name, depth - 1);
  const long long inside = now() - begun;
  xylem_region_end();
  add(name, inside, now() - before, in_mpi);
  return in_mpi;
}

static void* run_thread(void* name) {
  int flag;
  tag = 4;
  xylem_region_begin("before the first call"); /* Not counted. */
  MPI_Initialized(&flag);
  for (int i = 0; i < 5; ++i) visit(name, "inner", 1);
  xylem_region_end();              /* "before the first call" */
  xylem_region_begin("left open"); /* Ends with the thread. */
  add("left open", 0, 1000000000, 0);
  return NULL;
}

/* A level lasts until the next one, whatever regions begin and end meanwhile. */
static void levels(void) {
  long long before = now();
  MPI_Pcontrol(0);
  work(3000000);
  MPI_Pcontrol(1);
  add("MPI_Pcontrol(0)", 3000000, now() - before, 0);
  before = now();
  MPI_Pcontrol(-7);
  xylem_region_begin("across");
  work(3000000);
  const long long between = now();
  MPI_Pcontrol(2);
  add("MPI_Pcontrol(-7)", 3000000, now() - before, 0);
  work(1000000);
  xylem_region_end();
  add("across", 4000000, now() - before, 0);
  MPI_Pcontrol(1);
  add("MPI_Pcontrol(2)", 1000000, now() - between, 0);
}

static void unbalanced(void) {
  for (int i = 0; i < 3; ++i) xylem_region_end(); /* Nothing has begun. */
  for (int i = 0; i < 40; ++i) xylem_region_begin("deep");
  for (int i = 0; i < 40; ++i) xylem_region_end();
  for (int i = 0; i < 32; ++i) add("deep", 0, 1000000000, 0); /* Those that are not too deep. */
}

int main(int argc, char** argv) {
  int granted, rank;
  pthread_t thread;
  char path[4096], name[300];
  if (argc != 3) return 2;
  xylem_region_begin("before MPI_Init"); /* Not counted. */
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (granted == MPI_THREAD_MULTIPLE) pthread_create(&thread, NULL, run_thread, "thread");
  for (int i = 0; i < 5 + rank; ++i) visit("outer", "inner", 3);
  if (granted == MPI_THREAD_MULTIPLE) pthread_join(thread, NULL);
  levels();
  unbalanced();
  xylem_region_end(); /* "before MPI_Init" */
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  xylem_region_begin(name); /* Is cut. */
  xylem_region_end();
  snprintf(path, sizeof path, "%s.%d", argv[1], rank);
  FILE* said = fopen(path, "w");
  if (said == NULL) return 3;
  for (int i = 0; i < count; ++i)
    fprintf(said, "%s|%ld|%lld|%lld|%lld\n", sums[i].name, sums[i].visits, sums[i].inside_ns,
            sums[i].around_ns, sums[i].mpi_ns);
  fclose(said);

  char token = 0;
  if (rank == 0) {
    xylem_region_begin("last");
    MPI_Recv(&token, 1, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    xylem_region_end();
  } else if (rank == 1) {
    xylem_region_begin("late");
    work((long long)(atof(argv[2]) * 1e9));
    xylem_region_end();
    MPI_Send(&token, 1, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
