/* Programs that forbid system calls to themselves before they start MPI, as containers do for them.
 *
 *   unharmed_sandbox HOW
 *
 *   old-kernel     newer system calls are not there (ENOSYS)
 *   no-children    no process can be started (EPERM)
 *   no-unix        no Unix socket can be made (EPERM)
 */

#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "unharmed.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define IF(number, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, (skipped))

static void forbid(const int* calls, unsigned number, int error) {
  struct sock_filter filter[64];
  unsigned n = 0;
  filter[n++] = (struct sock_filter)LOAD(nr);
  for (unsigned i = 0; i < number; ++i) {
    filter[n++] = (struct sock_filter)IF((unsigned)calls[i], 1);
    filter[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | (unsigned)error);
  }
  filter[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {(unsigned short)n, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    fail("seccomp");
}

/* Processes, not threads: a clone without CLONE_THREAD; clone3, whose flags are in memory, is not
 * there. */
static void forbid_children(void) {
  static const int missing[] = {SYS_clone3};
  forbid(missing, 1, ENOSYS);
  static const int others[] = {SYS_fork, SYS_vfork, SYS_execve, SYS_execveat};
  forbid(others, 4, EPERM);
  struct sock_filter filter[] = {
      LOAD(nr),
      IF(SYS_clone, 3),
      LOAD(args[0]),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
      ANSWER(SECCOMP_RET_ERRNO | EPERM),
      ANSWER(SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) fail("seccomp");
}

static void forbid_unix_sockets(void) {
  struct sock_filter filter[] = {
      LOAD(nr),
      IF(SYS_socket, 3),
      LOAD(args[0]),
      IF(AF_UNIX, 1),
      ANSWER(SECCOMP_RET_ERRNO | EPERM),
      ANSWER(SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    fail("seccomp");
}

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  open_counts();
  if (IS("old-kernel")) {
    static const int newer[] = {SYS_memfd_create, SYS_getrandom, SYS_close_range, SYS_statx,
                                SYS_pidfd_open,   SYS_clone3,    SYS_membarrier};
    forbid(newer, sizeof newer / sizeof newer[0], ENOSYS);
  } else if (IS("no-children")) {
    forbid_children();
  } else if (IS("no-unix")) {
    forbid_unix_sockets();
  } else {
    return 2;
  }
  begin();
  exchange(10);
  finish();
  return 0;
}
