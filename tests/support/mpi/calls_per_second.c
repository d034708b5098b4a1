/* What a call costs: times batches of MPI calls on one rank.
 *
 *   calls_per_second SUBJECT CALLS
 *
 * SUBJECT is clock (two reads of the time-stamp counter, no MPI) or a line of `subjects` below: a
 * few MPI calls that a program makes together. For each line on standard input makes a batch of at
 * least CALLS calls and prints the time of one in ns; "-" ends it. So a driver can empty the ring
 * between batches and let several such programs take turns. Messages go from the rank to itself.
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

static MPI_Request pending; /* Of a receive that nobody sends to. */
static MPI_Datatype strided;

static void clock_twice(void) { sink = stamp(), sink = stamp(); }

static void comm_rank(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

static void iprobe(void) {
  int flag;
  MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void test(void) {
  int flag;
  MPI_Test(&pending, &flag, MPI_STATUS_IGNORE);
}

static void sendrecv(void) {
  int in, out = 0;
  MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void sendrecv_strided(void) {
  int in[4], out[4] = {0};
  MPI_Sendrecv(out, 1, strided, 0, 1, in, 1, strided, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void isend_recv_wait(void) {
  int in, out = 0;
  MPI_Request request;
  MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
  MPI_Recv(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void irecv_send_wait(void) {
  int in, out = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
  MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
}

static void irecv_isend_waitall(void) {
  int in, out = 0;
  MPI_Request both[2];
  MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &both[0]);
  MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &both[1]);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}

static void allreduce(void) {
  double in, out = 0;
  MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void bcast(void) {
  int value = 0;
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static const struct {
  const char* name;
  int calls;
  void (*make)(void);
} subjects[] = {
    {"clock", 1, clock_twice},
    {"comm_rank", 1, comm_rank},
    {"iprobe", 1, iprobe},
    {"test", 1, test},
    {"sendrecv", 1, sendrecv},
    {"sendrecv_strided", 1, sendrecv_strided},
    {"isend_recv_wait", 3, isend_recv_wait},
    {"irecv_send_wait", 3, irecv_send_wait},
    {"irecv_isend_waitall", 3, irecv_isend_waitall},
    {"allreduce", 1, allreduce},
    {"bcast", 1, bcast},
};

/* Gives the number of calls made. */
static long batch(unsigned subject, long calls) {
  const long turns = (calls + subjects[subject].calls - 1) / subjects[subject].calls;
  for (long i = 0; i < turns; ++i) subjects[subject].make();
  return turns * subjects[subject].calls;
}

int main(int count, char** arguments) {
  static int never;
  const unsigned known = sizeof subjects / sizeof subjects[0];
  unsigned subject = 0;
  if (count != 3) return 2;
  while (subject < known && strcmp(arguments[1], subjects[subject].name) != 0) ++subject;
  const long calls = atol(arguments[2]);
  if (subject == known || calls <= 0) return 2;
  char line[16];
  MPI_Init(&count, &arguments);
  MPI_Type_vector(2, 1, 2, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_Irecv(&never, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &pending);
  batch(subject, calls < 1000 ? calls : 1000);
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL && line[0] != '-') {
    const double begin = now();
    const long made = batch(subject, calls);
    printf("%.3f\n", (now() - begin) / (double)made);
    fflush(stdout);
  }
  MPI_Cancel(&pending);
  MPI_Wait(&pending, MPI_STATUS_IGNORE);
  MPI_Type_free(&strided);
  MPI_Finalize();
  return 0;
}
