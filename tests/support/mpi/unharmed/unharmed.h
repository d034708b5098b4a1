#ifndef UNHARMED_H
#define UNHARMED_H
/* Common code of the programs of tests/integration/unharmed_test.py. They count their own MPI
 * calls. They do a little work, check its results, and print them. So the test can compare runs
 * with and without xylem.
 *
 * Counts are kept in the file that UNHARMED_COUNTS names. The test makes this file, and each
 * process maps it. So the counts of a process stay in the file, whatever ends the process. A
 * process without open files and without an environment can still count. Each process has a slot.
 * A child of fork() has the slot of its parent and must not count.
 *
 *   open_counts();                     call it first, before the environment changes
 *   COUNTED(MPI_Barrier(comm));        counts the call and makes it
 *   begin(); exchange(10); finish();   from MPI_Init to MPI_Finalize, counted
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kSlots = 255 };

/* The test reads these 32 bytes. */
struct own_slot {
  int64_t pid;
  int64_t rank; /* -1 while it is not known. */
  int64_t calls;
  int64_t value; /* A measured value, for tests that compare one. */
};

struct own_file {
  int64_t taken;
  int64_t unused[3];
  struct own_slot slots[kSlots];
};

static struct own_slot own_nowhere = {0, -1, 0, 0};
static struct own_slot* own = &own_nowhere;
static int rank = 0, size = 1;

#define COUNTED(call) (count_call(), (call))

static inline void count_call(void) { __atomic_fetch_add(&own->calls, 1, __ATOMIC_SEQ_CST); }

static inline void open_counts(void) {
  const char* path = getenv("UNHARMED_COUNTS");
  if (path == NULL || own != &own_nowhere) return;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* map = mmap(NULL, sizeof(struct own_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (map == MAP_FAILED) return;
  struct own_file* file = (struct own_file*)map;
  const int64_t slot = __atomic_fetch_add(&file->taken, 1, __ATOMIC_SEQ_CST);
  if (slot >= kSlots) abort();
  own = &file->slots[slot];
  own->pid = getpid();
  own->rank = -1;
}

/* Prints one line on standard output with one system call. */
static inline void tell(const char* what, long number) {
  char line[256];
  const int length =
      snprintf(line, sizeof line, "rank %d of %d: %s %ld\n", rank, size, what, number);
  if (write(1, line, (size_t)length) != length) own->value = -1;
}

static inline void fail(const char* what) {
  tell(what, -1);
  _exit(9);
}

/* Call it after MPI_Init. Sets `rank` and `size`. */
static inline void find_place(void) {
  COUNTED(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  COUNTED(MPI_Comm_size(MPI_COMM_WORLD, &size));
  own->rank = rank;
}

static inline void begin(void) {
  COUNTED(MPI_Init(NULL, NULL));
  find_place();
}

/* Makes calls of several kinds and checks the received values. The first call is a broadcast. */
static inline void exchange(int rounds) {
  long sum = 0;
  for (int round = 0; round < rounds; ++round) {
    int given[3] = {rank * 1000 + round, 17, round}, got = -1, all = -1;
    int told[3] = {0, 0, 0};
    if (rank == round % size) memcpy(told, given, sizeof told);
    COUNTED(MPI_Bcast(told, 3, MPI_INT, round % size, MPI_COMM_WORLD));
    if (told[0] != round % size * 1000 + round || told[1] != 17 || told[2] != round)
      fail("a broadcast brought something else");
    COUNTED(MPI_Sendrecv(given, 1, MPI_INT, (rank + 1) % size, 5, &got, 1, MPI_INT,
                         (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (got != (rank + size - 1) % size * 1000 + round) fail("a message brought something else");
    COUNTED(MPI_Allreduce(given, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (all != size * (size - 1) / 2 * 1000 + size * round) fail("a sum is another");
    sum += told[0] + got + all;
  }
  tell("exchanged", sum);
}

static inline void finish(void) { COUNTED(MPI_Finalize()); }

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* True if the program's first argument (`how`) is `name`. */
#define IS(name) (strcmp(how, name) == 0)

#endif
