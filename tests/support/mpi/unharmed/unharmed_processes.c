/* Programs that start processes, or become another one.
 *
 *   unharmed_processes HOW [COMMAND...]
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "unharmed.h"

static void start_children(int number, int code) {
  for (int i = 0; i < number; ++i) {
    const pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) _exit(code);
  }
}

static long reap_all(void) {
  long reaped = 0;
  for (;;) {
    const pid_t ended = wait(NULL);
    if (ended > 0)
      ++reaped;
    else if (errno != EINTR)
      return reaped;
  }
}

/* Orphans come to this process, which waits until it has no children left. */
static void subreaper(void) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) fail("prctl");
  begin();
  start_children(3, 0);
  exchange(10);
  tell("reaped", reap_all());
  finish();
}

/* The same of a process around the rank, as of a container's init: `reap COMMAND...`. */
static int reap_around(char** command) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return 9;
  const pid_t child = fork();
  if (child == 0) {
    execvp(command[0], command);
    _exit(127);
  }
  int status = 0, code = 9;
  for (pid_t ended; (ended = wait(&status)) > 0 || errno == EINTR;) {
    if (ended == child) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return code;
}

static volatile sig_atomic_t children_ended;
static void reap_in_handler(int number) {
  const int before = errno;
  (void)number;
  while (waitpid(-1, NULL, WNOHANG) > 0) ++children_ended;
  errno = before;
}

/* A handler that reaps whatever has ended; or none, and the kernel does. */
static void sigchld(int ignored) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = ignored ? SIG_IGN : reap_in_handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGCHLD, &action, NULL);
  begin();
  exchange(10);
  tell("children that ended unasked", children_ended);
  finish();
}

static void fork_storm(void) {
  begin();
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) { /* Its calls are nobody's. */
      for (int n = 0; n < 100; ++n) (void)MPI_Wtime();
      _exit(0);
    }
    (void)COUNTED(MPI_Wtime());
    if (child < 0 || waitpid(child, NULL, 0) != child) fail("fork");
  }
  exchange(10);
  finish();
}

static void spawn(void) {
  char* const nothing[] = {NULL};
  char* const arguments[] = {(char*)"true", NULL};
  begin();
  for (int i = 0; i < 20; ++i) {
    pid_t child = 0;
    int status = -1;
    if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, i % 2 ? environ : nothing) != 0 ||
        waitpid(child, &status, 0) != child || status != 0)
      fail("posix_spawn");
  }
  exchange(10);
  finish();
}

static void vfork_exec(void) {
  begin();
  for (int i = 0; i < 20; ++i) {
    int status = -1;
    const pid_t child = vfork();
    if (child == 0) {
      execl("/bin/true", "true", (char*)NULL);
      _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) fail("vfork");
  }
  if (system("exit 7") != 7 << 8) fail("system");
  FILE* pipe = popen("echo 41", "r");
  int answer = 0;
  if (pipe == NULL || fscanf(pipe, "%d", &answer) != 1 || pclose(pipe) != 0 || answer != 41)
    fail("popen");
  exchange(10);
  finish();
}

/* A daemon that lives on: the test ends it by the process id in `value`. */
static void daemon_of_rank(void) {
  begin();
  exchange(10);
  if (rank == 0) {
    if (fork() == 0) {
      setsid();
      if (fork() == 0) {
        own->value = getpid();
        for (int fd = 0; fd < 1024; ++fd) close(fd);
        pause();
      }
      _exit(0);
    }
    wait(NULL);
  }
  finish();
}

/* MPI is the child's; the parent ends with its code. */
static int init_in_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    own->pid = getpid();
    begin();
    exchange(10);
    finish();
    exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) fail("waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}

/* What becomes of the process instead is no MPI program. */
static void exec_echo(const char* text) {
  execl("/bin/echo", "echo", text, (char*)NULL);
  fail("exec");
}

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  if (IS("reap")) return reap_around(arguments + 2);
  open_counts();
  if (IS("subreaper"))
    subreaper();
  else if (IS("reap-in-handler"))
    sigchld(0);
  else if (IS("ignore-children"))
    sigchld(1);
  else if (IS("fork-storm"))
    fork_storm();
  else if (IS("spawn"))
    spawn();
  else if (IS("vfork"))
    vfork_exec();
  else if (IS("daemon"))
    daemon_of_rank();
  else if (IS("init-in-child"))
    return init_in_child();
  else if (IS("exec-first")) {
    int initialized = 1;
    COUNTED(MPI_Initialized(&initialized)); /* Of a program image that is gone before MPI starts. */
    own->calls = 0;
    execl("/proc/self/exe", arguments[0], "plain", (char*)NULL);
    fail("exec");
  } else if (IS("exec-last")) {
    begin();
    exchange(10);
    finish();
    exec_echo("another program");
  } else if (IS("exec-in-the-midst")) {
    begin();
    exchange(10);
    exec_echo("another program");
  } else if (IS("plain")) {
    begin();
    exchange(10);
    finish();
  } else if (IS("leave-group")) {
    setpgid(0, 0);
    begin();
    setsid();
    exchange(10);
    finish();
  } else if (IS("die-with-parent")) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0);
    begin();
    exchange(10);
    finish();
  } else {
    return 2;
  }
  return 0;
}
