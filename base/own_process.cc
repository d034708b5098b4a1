#include "base/own_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <initializer_list>

namespace xylem {

bool survive_size_limit() { return std::signal(SIGXFSZ, SIG_IGN) == SIG_IGN; }

void open_standard_streams() {
  for (;;) {
    const int fd = ::open("/dev/null", O_RDWR);
    if (fd < 0) return;
    if (fd > STDERR_FILENO) {
      ::close(fd);
      return;
    }
  }
}

void stretch_limits() {
  survive_size_limit();
  for (const auto resource : {RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_AS}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == limit.rlim_max) continue;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(resource, &limit);
  }
}

void use_all_processors() {
  unsigned char processors[1024];
  std::memset(processors, 0xff, sizeof processors);  // The kernel keeps to what we may use.
  ::syscall(SYS_sched_setaffinity, 0, sizeof processors, processors);
}

}  // namespace xylem
