/* A job with a set pace, for measurements of the whole system.
 *
 *   paced work STEPS SPINS REPORT    STEPS times: SPINS rounds of arithmetic, then four MPI calls.
 *                                    The amount of work is fixed, the time is not
 *   paced steady SECONDS SPINS REPORT
 *                                    steps as of `work` for so long
 *   paced idle SECONDS               sleeps between MPI_Init and MPI_Finalize
 *   paced mark COUNT MEAN_MS REPORT  rank 0 makes COUNT calls of MPI_Sendrecv to itself, with
 *                                    random pauses, 0 to twice the mean, between them
 *   paced burst COUNT REST_MS CALLS  COUNT times: sleeps, then makes CALLS calls of MPI_Comm_rank
 *                                    as fast as it can
 *   paced wake PERIOD_MS SECONDS     no MPI: wakes up so often and reads a file of /proc, which is
 *                                    the least that anything does which samples a host
 *
 * After `work` REPORT.RANK holds one line: calls, wall seconds and CPU seconds of the steps, and
 * CPU seconds of the process from its start to after MPI_Finalize. After `mark` REPORT.0 holds a
 * line a call: CLOCK_MONOTONIC in ns just before it.
 *
 * After `steady` REPORT.RANK holds a line each time the ranks have met: CLOCK_MONOTONIC in ns,
 * steps so far, and CPU seconds of these steps, without those spent in waiting for each other.
 *
 * The ranks of `work` and `steady` meet only every 250 steps. They poll while they wait, so where
 * they meet often, whoever takes a core from one of them stops both, and that is what one would
 * measure.
 */

#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { kStepsApart = 250 };

static volatile double sink; /* Keeps the compiler from leaving the arithmetic out. */

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1000000000ll * t.tv_sec + t.tv_nsec;
}

static double cpu_seconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void rest_ms(double ms) {
  struct timespec t = {(time_t)(ms / 1000), 0};
  t.tv_nsec = (long)(1e6 * (ms - 1e3 * (double)t.tv_sec));
  nanosleep(&t, NULL);
}

static FILE* report_of(const char* prefix, int rank) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", prefix, rank);
  FILE* file = fopen(path, "w");
  if (file == NULL) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return file;
}

static void work(long steps, long spins, const char* prefix) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* report = report_of(prefix, rank);
  double out[16] = {0}, in[16] = {0}, sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double cpu = cpu_seconds();
  const int64_t begin = now_ns();
  for (long step = 0; step < steps; ++step) {
    double x = 1.0 + (double)step;
    for (long i = 0; i < spins; ++i) x = x * 0.999999 + 1e-6;
    sink = x;
    MPI_Request both[2];
    MPI_Irecv(in, 16, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(out, 16, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    if (step % kStepsApart == 0) {
      MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    } else {
      MPI_Sendrecv(out, 1, MPI_DOUBLE, rank, 1, in, 1, MPI_DOUBLE, rank, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    }
  }
  const double wall = 1e-9 * (double)(now_ns() - begin);
  const double steps_cpu = cpu_seconds() - cpu;
  MPI_Finalize();
  fprintf(report, "%ld %.6f %.6f %.6f\n", 4 * steps, wall, steps_cpu, cpu_seconds());
  fclose(report);
}

static void step_of(long step, long spins, int rank) {
  double out = 0, in = 0, x = 1.0 + (double)step;
  for (long i = 0; i < spins; ++i) x = x * 0.999999 + 1e-6;
  sink = x;
  MPI_Sendrecv(&out, 1, MPI_DOUBLE, rank, 1, &in, 1, MPI_DOUBLE, rank, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static double exact_cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void steady(double seconds, long spins, const char* prefix) {
  int rank = 0, goes_on = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* report = report_of(prefix, rank);
  setvbuf(report, NULL, _IOLBF, 0);
  const int64_t end = now_ns() + (int64_t)(1e9 * seconds);
  long step = 0;
  double used = 0;
  while (goes_on) {
    const double before = exact_cpu_seconds();
    for (int i = 0; i < kStepsApart; ++i) step_of(step++, spins, rank);
    used += exact_cpu_seconds() - before;
    fprintf(report, "%lld %ld %.9f\n", (long long)now_ns(), step, used);
    goes_on = now_ns() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  fclose(report);
  MPI_Finalize();
}

static void mark(long count, double mean_ms, const char* prefix) {
  int rank = 0, out = 0, in = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    FILE* report = report_of(prefix, rank);
    srand48(20240617); /* Fixed; the pauses fall anywhere in windows and commits all the same. */
    for (long i = 0; i < count; ++i) {
      rest_ms(2 * mean_ms * drand48());
      fprintf(report, "%lld\n", (long long)now_ns());
      MPI_Sendrecv(&out, 1, MPI_INT, 0, (int)i, &in, 1, MPI_INT, 0, (int)i, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    }
    fclose(report);
    rest_ms(3000); /* The last marks shall be seen because time passes, not because the job ends. */
  }
  MPI_Finalize();
}

static void burst(long count, double rest, long calls) {
  int rank = 0;
  for (long i = 0; i < count; ++i) {
    rest_ms(rest);
    for (long call = 0; call < calls; ++call) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  MPI_Finalize();
}

static void wake(double period_ms, double seconds) {
  char text[4096];
  const int64_t end = now_ns() + (int64_t)(1e9 * seconds);
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  while (now_ns() < end) {
    rest_ms(period_ms);
    if (pread(file, text, sizeof text, 0) < 0) perror("/proc/self/stat");
  }
  close(file);
}

int main(int count, char** arguments) {
  const char* mode = count > 1 ? arguments[1] : "";
  if (strcmp(mode, "wake") == 0 && count == 4) {
    wake(atof(arguments[2]), atof(arguments[3]));
  } else if (strcmp(mode, "work") == 0 && count == 5) {
    MPI_Init(NULL, NULL);
    work(atol(arguments[2]), atol(arguments[3]), arguments[4]);
  } else if (strcmp(mode, "steady") == 0 && count == 5) {
    MPI_Init(NULL, NULL);
    steady(atof(arguments[2]), atol(arguments[3]), arguments[4]);
  } else if (strcmp(mode, "idle") == 0 && count == 3) {
    MPI_Init(NULL, NULL);
    rest_ms(1e3 * atof(arguments[2]));
    MPI_Finalize();
  } else if (strcmp(mode, "burst") == 0 && count == 5) {
    MPI_Init(NULL, NULL);
    burst(atol(arguments[2]), atof(arguments[3]), atol(arguments[4]));
  } else if (strcmp(mode, "mark") == 0 && count == 5) {
    MPI_Init(NULL, NULL);
    mark(atol(arguments[2]), atof(arguments[3]), arguments[4]);
  } else {
    fputs("usage: paced work|steady|idle|mark|burst|wake ...: see the head of paced.c\n", stderr);
    return 2;
  }
  return 0;
}
