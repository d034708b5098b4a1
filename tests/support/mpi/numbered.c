/* Ranks whose messages carry consecutive numbers as tags, so that each can be looked for in what
 * was stored: is it there, is it there once.
 *
 *   numbered alone STOP PREFIX MEAN_MS   messages to oneself, in bursts and single, with pauses
 *                                        of 0 to twice the mean, until there is a file STOP
 *   numbered ring COUNT                  each rank sends COUNT messages to the next one
 *
 * `alone` keeps PREFIX.RANK up to date, which survives the rank whatever happens to it: three
 * 64-bit numbers: its process id, MPI calls that have returned, messages among them.
 */

#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kLongestBurst = 64 };

struct counts {
  volatile uint64_t pid, calls, messages;
};

static void fail(const char* what) {
  fprintf(stderr, "numbered: %s\n", what);
  abort();
}

static void rest_ms(double ms) {
  struct timespec t = {(time_t)(ms / 1000), 0};
  t.tv_nsec = (long)(1e6 * (ms - 1e3 * (double)t.tv_sec));
  nanosleep(&t, NULL);
}

static struct counts* open_counts(const char* prefix, int rank) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", prefix, rank);
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, sizeof(struct counts)) != 0) fail(path);
  void* memory = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) fail(path);
  close(file);
  return (struct counts*)memory;
}

static void alone(const char* stop, const char* prefix, double mean_ms) {
  int rank = 0, out = 0, in = 0, known = 0, *largest = NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &known);
  struct counts* counts = open_counts(prefix, rank);
  counts->calls = 3; /* MPI_Init and those above. */
  counts->pid = (uint64_t)getpid();
  srand48(getpid());
  while (access(stop, F_OK) != 0) {
    const int burst = drand48() < 0.05 ? 1 + (int)(kLongestBurst * drand48()) : 1;
    for (int i = 0; i < burst; ++i) {
      const uint64_t number = counts->messages + 1;
      if (!known || number > (uint64_t)*largest) fail("no more tags");
      MPI_Sendrecv(&out, 1, MPI_INT, rank, (int)number, &in, 1, MPI_INT, rank, (int)number,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      counts->messages = number;
      counts->calls = counts->calls + 1;
    }
    rest_ms(2 * mean_ms * drand48());
  }
  MPI_Finalize();
  counts->calls = counts->calls + 1;
}

static void ring(int count) {
  int rank = 0, size = 0, out = 0, in = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int number = 1; number <= count; ++number) {
    MPI_Request sent;
    MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, number, MPI_COMM_WORLD, &sent);
    MPI_Recv(&in, 1, MPI_INT, (rank + size - 1) % size, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    rest_ms(1);
  }
  MPI_Finalize();
}

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  MPI_Init(NULL, NULL);
  if (strcmp(how, "alone") == 0 && count == 5) {
    alone(arguments[2], arguments[3], atof(arguments[4]));
  } else if (strcmp(how, "ring") == 0 && count == 3) {
    ring(atoi(arguments[2]));
  } else {
    fail("usage: numbered alone|ring ...: see the head of numbered.c");
  }
  return 0;
}
