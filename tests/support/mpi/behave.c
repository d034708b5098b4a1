/* Ranks that behave as programs do on bad days.
 *
 *   behave exit CODE      finalize, then exit with CODE
 *   behave segfault       1000 calls, then rank 0 writes through a null pointer
 *   behave kill           1000 calls, then rank 0 kills itself with SIGKILL
 *   behave abort          1000 calls, then rank 0 calls MPI_Abort
 *   behave _exit          1000 calls, then everyone leaves without MPI_Finalize
 *   behave loop SECONDS   a barrier and some messages every millisecond, for so long
 *   behave probe COUNT    COUNT calls of MPI_Iprobe, a millisecond apart
 *   behave poll SECONDS [FILE]   nothing but MPI_Iprobe, for so long, or until there is such a file
 *   behave late SECONDS   MPI_Init only after so long
 *   behave deadlock       some messages, then everyone receives what nobody sends
 *   behave alone SECONDS  some messages, then rank 0 computes for so long, the others wait for it
 *   behave apart SECONDS  some messages, then everyone computes for so long
 */

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;

static void rest(double seconds) {
  struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&t, NULL);
}

static void thousand_calls(void) {
  for (int i = 0; i < 1000; ++i) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

static void loop(double seconds) {
  int token = 0, going = 1;
  const double end = MPI_Wtime() + seconds;
  while (going) {
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Sendrecv_replace(&token, 1, MPI_INT, next, 0, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    going = MPI_Wtime() < end;
    MPI_Bcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD);
    rest(0.001);
  }
}

static void probe(void) {
  int found;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

static void poll(double seconds, const char* stop) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end && (stop == NULL || access(stop, F_OK) != 0)) {
    for (int i = 0; i < 1000; ++i) probe();
  }
}

/* As long by the clock, without a call. */
static void compute(double seconds) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const double end = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + seconds;
  do {
    clock_gettime(CLOCK_MONOTONIC, &t);
  } while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < end);
}

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  const double amount = count > 2 ? atof(arguments[2]) : 0;
  if (strcmp(how, "late") == 0) rest(amount);
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(how, "loop") == 0) {
    loop(amount);
  } else if (strcmp(how, "poll") == 0) {
    poll(amount, count > 3 ? arguments[3] : NULL);
  } else if (strcmp(how, "probe") == 0) {
    for (int i = 0; i < (int)amount; ++i, rest(0.001)) probe();
  } else if (strcmp(how, "deadlock") == 0) {
    int token;
    loop(1);
    MPI_Recv(&token, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(how, "alone") == 0 || strcmp(how, "apart") == 0) {
    loop(1);
    if (rank == 0 || strcmp(how, "apart") == 0) compute(amount);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(how, "exit") != 0) {
    thousand_calls();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(how, "_exit") == 0) _exit(0);
  if (rank == 0 && strcmp(how, "segfault") == 0) *(volatile int*)NULL = 1;
  if (rank == 0 && strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  if (rank == 0 && strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 5);
  /* The others of a dying job wait here until their launcher ends them. */
  MPI_Finalize();
  return strcmp(how, "exit") == 0 ? (int)amount : 0;
}
