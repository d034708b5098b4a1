/* Programs that run short of something, that change their own surroundings, or look at them.
 *
 *   unharmed_limits HOW     see the table at the end
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unharmed.h"

/* Of a line "VmLck:  108 kB" of /proc/self/status. */
static long status_kib(const char* name) {
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  long kib = -1;
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) kib = atol(line + strlen(name) + 1);
  }
  if (status != NULL) fclose(status);
  return kib;
}

static void lower(int which, rlim_t to) {
  struct rlimit limit;
  getrlimit(which, &limit);
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > to) limit.rlim_max = to;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(which, &limit) != 0) fail("setrlimit");
}

static int highest_fd(void) {
  int highest = -1;
  for (int fd = 0; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) highest = fd;
  }
  return highest;
}

static void plain(void) {
  begin();
  exchange(10);
  finish();
}

/* MPI_Init, then all that is mapped and will be mapped stays in memory. */
static void lock_memory(int before) {
  if (before && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) tell("mlockall", errno);
  begin();
  if (!before && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) tell("mlockall", errno);
  exchange(10);
  own->value = status_kib("VmLck:");
  finish();
}

static void address_space(void) {
  begin();
  exchange(10);
  own->value = status_kib("VmSize:");
  finish();
}

/* After MPI_Init: no file may grow, no descriptor be opened, little memory be mapped from here on.
 * Before it: what MPI needs, and little more. */
static void own_limits(int before) {
  if (before) {
    lower(RLIMIT_FSIZE, (rlim_t)64 << 20);
    lower(RLIMIT_AS, (rlim_t)1 << 30);
    lower(RLIMIT_NOFILE, 64);
  }
  begin();
  exchange(1); /* What MPI maps at its first message it has mapped. */
  lower(RLIMIT_CORE, 0);
  if (!before) {
    lower(RLIMIT_FSIZE, 0);
    lower(RLIMIT_NOFILE, (rlim_t)highest_fd() + 1);
    lower(RLIMIT_AS, ((rlim_t)status_kib("VmSize:") + 65536) * 1024);
  }
  exchange(10);
  finish();
}

/* What the program sees of itself must not differ. */
static void look_around(void) {
  begin();
  struct rlimit limit;
  const int limits[] = {RLIMIT_AS,      RLIMIT_CORE,   RLIMIT_CPU,   RLIMIT_DATA,
                        RLIMIT_FSIZE,   RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_STACK,
                        RLIMIT_MEMLOCK, RLIMIT_RTPRIO, RLIMIT_NICE,  RLIMIT_SIGPENDING,
                        RLIMIT_MSGQUEUE};
  for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; ++i) {
    getrlimit((enum __rlimit_resource)limits[i], &limit);
    tell("soft limit", (long)limit.rlim_cur);
    tell("hard limit", (long)limit.rlim_max);
  }
  int fds = 0;
  for (int fd = 0; fd < 1024; ++fd) fds += fcntl(fd, F_GETFD) >= 0;
  tell("descriptors", fds);
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  for (int s = 1; s < 32; ++s) {
    struct sigaction action;
    if (s == SIGKILL || s == SIGSTOP) continue;
    sigaction(s, NULL, &action);
    if (action.sa_handler != SIG_DFL) tell("has a handler: signal", s);
    if (sigismember(&blocked, s)) tell("is blocked: signal", s);
  }
  tell("threads", status_kib("Threads:"));
  errno = 0;
  tell("children", waitpid(-1, NULL, WNOHANG));
  tell("error of no children", errno);
  const mode_t mask = umask(077);
  umask(mask);
  tell("umask", (long)mask);
  tell("priority", getpriority(PRIO_PROCESS, 0));
  tell("own session", getsid(0) == getpid());
  tell("dumpable", prctl(PR_GET_DUMPABLE));
  tell("no new privileges", status_kib("NoNewPrivs:"));
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  tell("processors", CPU_COUNT(&cpus));
  exchange(10);
  finish();
}

static void change_user(int before) {
  if (!before) begin();
  if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) fail("setuid");
  if (before) begin();
  exchange(10);
  finish();
}

static void change_place(int before) {
  if (!before) begin();
  char gone[] = "/tmp/unharmed-XXXXXX";
  if (mkdtemp(gone) == NULL || chdir(gone) != 0 || rmdir(gone) != 0) fail("chdir");
  umask(0777);
  if (before) begin();
  exchange(10);
  finish();
}

/* Into a folder in which nothing is: no /proc, no /dev, no libraries. */
static void change_root(void) {
  begin();
  exchange(1); /* What MPI opens at its first message it has opened. */
  char empty[] = "/tmp/unharmed-XXXXXX";
  if (mkdtemp(empty) == NULL || chroot(empty) != 0 || chdir("/") != 0) fail("chroot");
  exchange(10);
  finish();
}

static void drop_environment(int only_ours) {
  if (only_ours) {
    unsetenv("LD_PRELOAD");
    char name[256];
    for (char** entry = environ; *entry != NULL;) {
      const char* end = strchr(*entry, '=');
      if (strncmp(*entry, "XYLEM_", 6) == 0 && end != NULL && end - *entry < 256) {
        memcpy(name, *entry, (size_t)(end - *entry));
        name[end - *entry] = 0;
        unsetenv(name);
      } else {
        ++entry;
      }
    }
    begin();
  } else {
    begin();
    clearenv();
  }
  exchange(10);
  tell("variables", environ == NULL || *environ == NULL ? 0 : 1);
  finish();
}

/* Closes what a daemon closes; only descriptors that MPI did not open before, which it needs. */
static void close_others(int inherited) {
  char is_open[1024];
  for (int fd = 0; fd < 1024; ++fd) is_open[fd] = fcntl(fd, F_GETFD) >= 0;
  if (!inherited) {
    begin();
    exchange(1);
    for (int fd = 0; fd < 1024; ++fd) is_open[fd] = fcntl(fd, F_GETFD) >= 0;
  }
  for (int fd = 3; fd < 1024; ++fd) {
    if (!is_open[fd]) close(fd);
  }
  if (inherited) begin();
  exchange(10);
  finish();
}

/* A program that numbers its descriptors itself. */
static void number_fds(void) {
  begin();
  exchange(1);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 100; fd < 1000; ++fd) {
    if (dup2(null, fd) != fd) fail("dup2");
  }
  exchange(10);
  finish();
}

/* All descriptors above the standard ones, those of MPI too: then the end without MPI_Finalize. */
static void close_all(void) {
  begin();
  exchange(10);
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  double time = 0;
  for (int i = 0; i < 100; ++i) time += COUNTED(MPI_Wtime());
  _exit(time < 0);
}

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  open_counts();
  if (IS("plain"))
    plain();
  else if (IS("lock-memory"))
    lock_memory(0);
  else if (IS("lock-memory-first"))
    lock_memory(1);
  else if (IS("address-space"))
    address_space();
  else if (IS("own-limits"))
    own_limits(0);
  else if (IS("own-limits-first"))
    own_limits(1);
  else if (IS("look-around"))
    look_around();
  else if (IS("user"))
    change_user(0);
  else if (IS("user-first"))
    change_user(1);
  else if (IS("place"))
    change_place(0);
  else if (IS("place-first"))
    change_place(1);
  else if (IS("root"))
    change_root();
  else if (IS("clear-environment"))
    drop_environment(0);
  else if (IS("drop-our-variables"))
    drop_environment(1);
  else if (IS("close-inherited"))
    close_others(1);
  else if (IS("close-others"))
    close_others(0);
  else if (IS("number-descriptors"))
    number_fds();
  else if (IS("close-all"))
    close_all();
  else
    return 2;
  return 0;
}
