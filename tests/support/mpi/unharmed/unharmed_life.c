/* Programs that begin or end in unusual ways.
 *
 *   unharmed_life HOW
 */

#define _GNU_SOURCE
#include <signal.h>

#include "unharmed.h"

static void clock_reads(int number) {
  double last = 0;
  for (int i = 0; i < number; ++i) {
    const double read = COUNTED(MPI_Wtime());
    if (read < last) fail("the clock goes back");
    last = read;
  }
}

/* Calls after MPI_Finalize, in all that runs at a program's end. */
static void ask_late(void) {
  int finalized = 0;
  COUNTED(MPI_Finalized(&finalized));
  tell("finalized", finalized);
}

static int asks_at_end;
__attribute__((destructor)) static void ask_at_end(void) {
  if (asks_at_end) ask_late();
}

static void begin_twice(void) {
  int flag = 0;
  for (int i = 0; i < 5; ++i) COUNTED(MPI_Initialized(&flag));
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  COUNTED(MPI_Get_library_version(version, &length));
  begin();
  COUNTED(MPI_Initialized(&flag));
  if (!flag) fail("not initialized");
}

/* Ranks that never call MPI_Finalize: rank 0 leaves when all have said so. */
static void leave(int code) {
  begin();
  exchange(10);
  COUNTED(MPI_Barrier(MPI_COMM_WORLD));
  _exit(code);
}

/* Rank 0 waits for rank 1, which ends otherwise. */
static void wait_for_last(void) {
  int never = 0;
  COUNTED(MPI_Recv(&never, 1, MPI_INT, size - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void end_badly(const char* how) {
  begin();
  exchange(10);
  COUNTED(MPI_Barrier(MPI_COMM_WORLD));
  if (rank != size - 1) return wait_for_last();
  if (IS("killed")) kill(getpid(), SIGKILL);
  if (IS("segfault")) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  COUNTED(MPI_Abort(MPI_COMM_WORLD, 5));
}

static void sessions(void) {
#if MPI_VERSION >= 4
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int all = 0, one = 1;
  COUNTED(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  COUNTED(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  COUNTED(
      MPI_Comm_create_from_group(group, "unharmed", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  COUNTED(MPI_Group_free(&group));
  COUNTED(MPI_Comm_rank(comm, &rank));
  COUNTED(MPI_Comm_size(comm, &size));
  own->rank = rank;
  for (int i = 0; i < 20; ++i) COUNTED(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm));
  tell("allreduce", all);
  COUNTED(MPI_Comm_free(&comm));
  COUNTED(MPI_Session_finalize(&session));
#endif
}

/* A communicator for each, and one that outlives MPI_Finalize. */
static void communicators(void) {
  begin();
  for (int i = 0; i < 300; ++i) {
    MPI_Comm half;
    int all = 0;
    COUNTED(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half));
    COUNTED(MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, half));
    if (i % 10 != 0) COUNTED(MPI_Comm_free(&half));
  }
  exchange(10);
  finish();
}

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  open_counts();
  if (IS("clock")) {
    begin();
    clock_reads(1000000);
    exchange(2);
    finish();
  } else if (IS("never")) {
    tell("calls no MPI", 0);
    own->rank = -1;
  } else if (IS("plain")) {
    begin();
    exchange(10);
    finish();
  } else if (IS("at-exit")) {
    atexit(ask_late);
    asks_at_end = 1;
    begin_twice();
    exchange(10);
    finish();
    clock_reads(0);
    atexit(ask_late);
  } else if (IS("exit-code")) {
    begin();
    exchange(10);
    finish();
    return 3;
  } else if (IS("_exit")) {
    leave(0);
  } else if (IS("abort") || IS("killed") || IS("segfault")) {
    end_badly(how);
  } else if (IS("sessions")) {
    sessions();
  } else if (IS("communicators")) {
    communicators();
  } else {
    return 2;
  }
  return 0;
}
