/* Threads that say who they are.
 *
 *   threads PREFIX LEVEL        LEVEL is 0 for MPI_THREAD_SINGLE, to 3 for MPI_THREAD_MULTIPLE
 *
 * Each rank writes PREFIX.RANK: "level GRANTED", then "thread TID CALLS" for each thread that has
 * called MPI_Comm_size. With MPI_THREAD_MULTIPLE, four threads call at the same time, then four
 * more, one after another. Otherwise only the main thread calls. */

#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kThreads = 4 };

struct work {
  int calls;
  long tid;
};
static pthread_barrier_t together;

static void call(struct work* work) {
  work->tid = syscall(SYS_gettid);
  for (int i = 0, size; i < work->calls; ++i) MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static void* call_alone(void* work) {
  call(work);
  return NULL;
}

static void* call_together(void* work) {
  call(work);
  pthread_barrier_wait(&together); /* Each holds its ring until all have called. */
  return NULL;
}

int main(int argc, char** argv) {
  int granted, rank;
  struct work works[2 * kThreads + 1];
  pthread_t threads[kThreads];
  char path[4096];
  if (argc != 3) return 2;
  MPI_Init_thread(&argc, &argv, atoi(argv[2]), &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = granted == MPI_THREAD_MULTIPLE ? 2 * kThreads : 0;
  for (int i = 0; i <= count; ++i) works[i].calls = 10 * rank + i + 1;
  pthread_barrier_init(&together, NULL, kThreads);
  for (int i = 0; i < count && i < kThreads; ++i)
    pthread_create(&threads[i], NULL, call_together, &works[i]);
  for (int i = 0; i < count && i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = kThreads; i < count; ++i) {
    pthread_create(&threads[0], NULL, call_alone, &works[i]);
    pthread_join(threads[0], NULL);
  }
  call(&works[count]);

  snprintf(path, sizeof path, "%s.%d", argv[1], rank);
  FILE* said = fopen(path, "w");
  if (said == NULL) return 3;
  fprintf(said, "level %d\n", granted);
  for (int i = 0; i <= count; ++i) fprintf(said, "thread %ld %d\n", works[i].tid, works[i].calls);
  fclose(said);
  MPI_Finalize();
  return 0;
}
