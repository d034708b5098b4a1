/* Programs with signal handlers: storms of signals, MPI calls inside handlers, ends inside
 * handlers.
 *
 *   unharmed_signals HOW
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "unharmed.h"

static volatile sig_atomic_t came;

/* Local functions only: they take no lock in either MPI. */
static void call_in_handler(int number) {
  int flag = 0, own_rank = -1;
  double time = COUNTED(MPI_Wtime());
  COUNTED(MPI_Initialized(&flag));
  if (flag) COUNTED(MPI_Comm_rank(MPI_COMM_WORLD, &own_rank));
  if (time < 0 || number == 0) _exit(9);
  ++came;
}

static void no_calls(int number) {
  (void)number;
  ++came;
}

static void abort_in_handler(int number) {
  (void)number;
  abort();
}

static void end_in_handler(int number) {
  (void)number;
  COUNTED(MPI_Abort(MPI_COMM_WORLD, 6));
}

static void exit_in_handler(int number) {
  (void)number;
  _exit(5);
}

static void handle(int number, void (*by)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = by;
  action.sa_flags = SA_RESTART | flags;
  sigemptyset(&action.sa_mask);
  if (sigaction(number, &action, NULL) != 0) fail("sigaction");
}

static void every_microseconds(long microseconds) {
  struct itimerval timer = {{0, microseconds}, {0, microseconds}};
  if (setitimer(ITIMER_REAL, &timer, NULL) != 0) fail("setitimer");
}

/* Until so many signals came, at least; messages meanwhile. */
static void storm(int wanted) {
  const double end = now() + 5;
  for (int enough = 0; !enough;) {
    int here = came >= wanted || now() > end, given = rank, got = 0;
    COUNTED(MPI_Sendrecv(&given, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT,
                         (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    COUNTED(MPI_Allreduce(&here, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    for (int i = 0; i < 20; ++i) {
      int flag;
      (void)COUNTED(MPI_Wtime());
      COUNTED(MPI_Initialized(&flag));
    }
  }
  tell("storm is over", came >= wanted);
}

static void storm_with(void (*by)(int), int flags, int before) {
  static char other_stack[1 << 16];
  if (flags & SA_ONSTACK) {
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = other_stack;
    stack.ss_size = sizeof other_stack;
    if (sigaltstack(&stack, NULL) != 0) fail("sigaltstack");
  }
  handle(SIGALRM, by, flags);
  if (before) every_microseconds(500);
  begin();
  if (!before) every_microseconds(200);
  storm(500);
  every_microseconds(0);
  exchange(10);
  finish();
}

/* A thread sends them to the first one, as fast as it can. */
static pthread_t first;
static volatile sig_atomic_t storming = 1;
static void* send_signals(void* unused) {
  while (storming) {
    pthread_kill(first, SIGUSR1);
    const struct timespec pause = {0, 20000};
    nanosleep(&pause, NULL);
  }
  return unused;
}

static void storm_of_thread(void) {
  pthread_t sender;
  int provided;
  first = pthread_self();
  handle(SIGUSR1, call_in_handler, 0);
  COUNTED(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
  find_place();
  if (pthread_create(&sender, NULL, send_signals, NULL) != 0) fail("pthread_create");
  storm(500);
  storming = 0;
  pthread_join(sender, NULL);
  exchange(10);
  finish();
}

/* Rank 0 waits in MPI for rank 1, which dies in a handler. */
static void die(void (*by)(int)) {
  handle(SIGUSR1, by, 0);
  begin();
  exchange(10);
  COUNTED(MPI_Barrier(MPI_COMM_WORLD));
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (rank == size - 1) raise(SIGUSR1);
  int never = 0;
  COUNTED(MPI_Recv(&never, 1, MPI_INT, size - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Every signal that can be, blocked from the start. */
static void block_all(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  begin();
  exchange(10);
  sigset_t after;
  sigprocmask(SIG_BLOCK, NULL, &after);
  for (int s = 1; s < 32; ++s) {
    if (s != SIGKILL && s != SIGSTOP && !sigismember(&after, s)) fail("a signal is not blocked");
  }
  sigpending(&after);
  for (int s = 1; s < 32; ++s) {
    if (sigismember(&after, s)) tell("is pending: signal", s);
  }
  finish();
}

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  open_counts();
  if (IS("calls-in-handler"))
    storm_with(call_in_handler, 0, 0);
  else if (IS("calls-on-other-stack"))
    storm_with(call_in_handler, SA_ONSTACK, 0);
  else if (IS("from-before-the-start"))
    storm_with(no_calls, 0, 1);
  else if (IS("from-a-thread"))
    storm_of_thread();
  else if (IS("abort"))
    die(abort_in_handler);
  else if (IS("mpi-abort"))
    die(end_in_handler);
  else if (IS("exit"))
    die(exit_in_handler);
  else if (IS("blocked"))
    block_all();
  else
    return 2;
  return 0;
}
