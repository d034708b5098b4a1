/* MPI programs that live and end as programs should not, or seldom do.
 *
 *   fates FATE [NUMBER]
 *
 * Each prints "calls N" before its end: the MPI calls that it made, on standard output. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank;
static long calls;

static void work(long number) {
  double sum = 0;
  for (long i = 0; i < number; ++i) sum += MPI_Wtime();
  calls += number;
  if (sum < 0) abort();
}

static void tell(void) {
  printf("calls %ld\n", calls);
  fflush(stdout);
}

static void begin(void) {
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  calls += 2;
}

static void* one_call(void* unused) {
  (void)MPI_Wtime();
  return unused;
}

/* At most `together` threads at a time, each making one call. */
static void threads(int number, int together) {
  pthread_t running[128];
  for (int done = 0; done < number; done += together) {
    for (int t = 0; t < together; ++t) pthread_create(&running[t], NULL, one_call, NULL);
    for (int t = 0; t < together; ++t) pthread_join(running[t], NULL);
  }
  calls += number;
}

static pthread_barrier_t everyone;

static void* call_together(void* unused) {
  (void)MPI_Wtime();
  pthread_barrier_wait(&everyone); /* All hold their ring at once. */
  return unused;
}

static void many_at_once(int number) {
  pthread_t running[128];
  pthread_barrier_init(&everyone, NULL, (unsigned)number);
  for (int t = 0; t < number; ++t) pthread_create(&running[t], NULL, call_together, NULL);
  for (int t = 0; t < number; ++t) pthread_join(running[t], NULL);
  calls += number;
}

/* The child calls MPI functions, which must not count for its parent, and ends normally. */
static void fork_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 1000; ++i) (void)MPI_Wtime();
    exit(0);
  }
  waitpid(child, NULL, 0);
}

/* What the library hands out of the run's key, here and in a child. */
static int key_handed_out(void) {
  char digits[65] = "";
  int (*ask)(char*) = (int (*)(char*))dlsym(RTLD_DEFAULT, "xylem_run_key_1");
  return ask != NULL && ask(digits) == 1 && strlen(digits) == 64;
}

static void tell_of_key(void) {
  printf("kept %d\n", key_handed_out());
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(key_handed_out());
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
  fflush(stdout);
}

static int sees_sigchld;
static void on_child(int number) {
  (void)number;
  ++sees_sigchld;
}

int main(int count, char** arguments) {
  const char* fate = count > 1 ? arguments[1] : "finalize";
  const long number = count > 2 ? atol(arguments[2]) : 0;
  if (strcmp(fate, "without-mpi") == 0) return puts("calls 0") < 0;
  if (strcmp(fate, "exec") == 0) {
    execl("/proc/self/exe", arguments[0], "finalize", count > 2 ? arguments[2] : "0", (char*)NULL);
    return 1;
  }
  if (strcmp(fate, "quiet") == 0) signal(SIGCHLD, on_child);
  if (strcmp(fate, "key-first") == 0) tell_of_key();
  begin();
  if (strcmp(fate, "key") == 0) tell_of_key();
  if (strcmp(fate, "threads") == 0) threads((int)number, 8);
  if (strcmp(fate, "many-threads") == 0) many_at_once((int)number);
  if (strcmp(fate, "fork") == 0) fork_child();
  if (strcmp(fate, "quiet") == 0) {
    /* What the agent's start must not leave: signals, children, descriptors, the key. */
    printf("sigchld %d\n", sees_sigchld);
    printf("child %d\n", (int)waitpid(-1, NULL, WNOHANG));
    printf("key %s\n", getenv("XYLEM_KEY") ? "there" : "gone");
    fflush(stdout);
    if (system("tr '\\0' '\\n' < /proc/$PPID/environ | grep -c 'XYLEM_KEY=[0-9a-f]'; "
               "ls -l /proc/$PPID/fd | grep -c -e xylem -e memfd") < 0)
      return 1;
  }
  if (strstr(fate, "threads") == NULL) work(number);
  if (strcmp(fate, "segfault") == 0) {
    tell();
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (strcmp(fate, "kill") == 0) {
    tell();
    raise(SIGKILL);
  }
  if (strcmp(fate, "_exit") == 0) {
    tell();
    _exit(0);
  }
  if (strcmp(fate, "no-finalize") == 0) {
    tell();
    return 0;
  }
  if (strcmp(fate, "abort") == 0) {
    ++calls;
    tell();
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
  ++calls;
  if (strcmp(fate, "after") == 0) {
    int finalized = 0;
    MPI_Finalized(&finalized);
    ++calls;
  }
  tell();
  return 0;
}
