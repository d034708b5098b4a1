/* Programs with threads, all of which may call MPI.
 *
 *   unharmed_threads HOW
 */

#define _GNU_SOURCE
#include <pthread.h>

#include "unharmed.h"

static void begin_threads(void) {
  int provided = 0;
  COUNTED(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
  if (provided < MPI_THREAD_MULTIPLE) fail("this MPI has no MPI_THREAD_MULTIPLE");
  find_place();
}

static void* one_call(void* unused) {
  (void)COUNTED(MPI_Wtime());
  return unused;
}

static void* exchange_in_thread(void* argument) {
  MPI_Comm comm = *(MPI_Comm*)argument;
  for (int round = 0; round < 50; ++round) {
    int given = rank + round, all = 0;
    COUNTED(MPI_Allreduce(&given, &all, 1, MPI_INT, MPI_SUM, comm));
    if (all != size * (size - 1) / 2 + size * round) fail("a sum of a thread is another");
  }
  COUNTED(MPI_Comm_free((MPI_Comm*)argument));
  return NULL;
}

/* Four threads with a communicator each, which end; then four more. */
static void that_end(void) {
  MPI_Comm comms[4];
  pthread_t threads[4];
  begin_threads();
  for (int generation = 0; generation < 2; ++generation) {
    for (int t = 0; t < 4; ++t) COUNTED(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
    for (int t = 0; t < 4; ++t) pthread_create(&threads[t], NULL, exchange_in_thread, &comms[t]);
    for (int t = 0; t < 4; ++t) pthread_join(threads[t], NULL);
  }
  exchange(10);
  finish();
}

static void short_lived(int number, int together) {
  pthread_t threads[128];
  begin_threads();
  for (int done = 0; done < number; done += together) {
    for (int t = 0; t < together; ++t) pthread_create(&threads[t], NULL, one_call, NULL);
    for (int t = 0; t < together; ++t) pthread_join(threads[t], NULL);
  }
  exchange(10);
  finish();
}

/* More at once than there are rings: each holds its ring until all have called. */
static pthread_barrier_t all_have_called;
static void* call_and_wait(void* unused) {
  (void)COUNTED(MPI_Wtime());
  pthread_barrier_wait(&all_have_called);
  (void)COUNTED(MPI_Wtime());
  return unused;
}

static void many_at_once(unsigned number) {
  pthread_t threads[128];
  pthread_barrier_init(&all_have_called, NULL, number);
  begin_threads();
  for (unsigned t = 0; t < number; ++t) pthread_create(&threads[t], NULL, call_and_wait, NULL);
  for (unsigned t = 0; t < number; ++t) pthread_join(threads[t], NULL);
  exchange(10);
  finish();
}

/* The end of a thread calls MPI, after and before the library's own end of thread. */
static pthread_key_t late[8];
static void call_late(void* again) {
  (void)COUNTED(MPI_Wtime());
  const long left = (long)again;
  if (left > 1) pthread_setspecific(late[0], (void*)(left - 1));
}

static void* end_with_calls(void* unused) {
  for (int k = 0; k < 8; ++k) pthread_setspecific(late[k], (void*)2L);
  (void)COUNTED(MPI_Wtime());
  return unused;
}

static void calls_of_ending_threads(void) {
  pthread_t threads[8];
  for (int k = 0; k < 4; ++k) pthread_key_create(&late[k], call_late);
  begin_threads();
  for (int k = 4; k < 8; ++k) pthread_key_create(&late[k], call_late);
  for (int generation = 0; generation < 10; ++generation) {
    for (int t = 0; t < 8; ++t) pthread_create(&threads[t], NULL, end_with_calls, NULL);
    for (int t = 0; t < 8; ++t) pthread_join(threads[t], NULL);
  }
  exchange(10);
  finish();
}

/* The end of the process finds threads that have called and have a ring. */
static volatile int running;
static void* call_and_stay(void* unused) {
  for (int i = 0; i < 1000; ++i) (void)COUNTED(MPI_Wtime());
  __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
  pause();
  return unused;
}

static void detached(void) {
  pthread_t thread;
  begin_threads();
  for (int t = 0; t < 4; ++t) {
    pthread_create(&thread, NULL, call_and_stay, NULL);
    pthread_detach(thread);
  }
  while (__atomic_load_n(&running, __ATOMIC_SEQ_CST) < 4) {
  }
  exchange(10);
  finish();
}

/* main() ends by pthread_exit; another thread calls MPI_Finalize. */
static void* finish_elsewhere(void* first) {
  pthread_join(*(pthread_t*)first, NULL);
  exchange(10);
  finish();
  exit(0);
}

static pthread_t first;
static void leave_main(void) {
  pthread_t last;
  begin_threads();
  first = pthread_self();
  pthread_create(&last, NULL, finish_elsewhere, &first);
  (void)COUNTED(MPI_Wtime());
  pthread_exit(NULL);
}

/* A thread that is cancelled between its calls. */
static void* call_until_cancelled(void* unused) {
  for (int i = 0;; ++i) {
    if (i < 1000) (void)COUNTED(MPI_Wtime());
    if (i == 1000) __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
    pthread_testcancel();
  }
  return unused;
}

static void cancelled(void) {
  pthread_t threads[4];
  begin_threads();
  for (int t = 0; t < 4; ++t) pthread_create(&threads[t], NULL, call_until_cancelled, NULL);
  while (__atomic_load_n(&running, __ATOMIC_SEQ_CST) < 4) {
  }
  for (int t = 0; t < 4; ++t) pthread_cancel(threads[t]);
  for (int t = 0; t < 4; ++t) pthread_join(threads[t], NULL);
  exchange(10);
  finish();
}

/* Stacks as small as they may be. */
static void small_stacks(void) {
  pthread_t threads[16];
  pthread_attr_t small;
  pthread_attr_init(&small);
  if (pthread_attr_setstacksize(&small, 1 << 14) != 0) fail("pthread_attr_setstacksize");
  begin_threads();
  for (int t = 0; t < 16; ++t) {
    if (pthread_create(&threads[t], &small, one_call, NULL) != 0) fail("pthread_create");
  }
  for (int t = 0; t < 16; ++t) pthread_join(threads[t], NULL);
  exchange(10);
  finish();
}

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  open_counts();
  if (IS("end"))
    that_end();
  else if (IS("short-lived"))
    short_lived(800, 8);
  else if (IS("many-at-once"))
    many_at_once(100);
  else if (IS("call-while-ending"))
    calls_of_ending_threads();
  else if (IS("detached"))
    detached();
  else if (IS("main-leaves"))
    leave_main();
  else if (IS("cancelled"))
    cancelled();
  else if (IS("small-stacks"))
    small_stacks();
  else
    return 2;
  return 0;
}
