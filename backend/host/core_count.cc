#include "backend/host/core_count.h"

#include <hwloc.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/pipe.h"

namespace xylem::backend {

Result<double> count_cores() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    return unexpected(Code::kUnavailable, "hwloc does not start; cores are not counted");
  }
  // Caches, devices and plugins are not needed, and would take most of the time.
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  int count = 0;
  if (hwloc_topology_load(topology) == 0) {  // Processors that control groups forbid are left out.
    count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    if (count <= 0) count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  }
  hwloc_topology_destroy(topology);
  if (count > 0) return static_cast<double>(count);
  return unexpected(Code::kUnavailable, "hwloc finds no processor; cores are not counted");
}

CoreCount::~CoreCount() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Result<void> CoreCount::start() {
  auto pipe = make_pipe();
  if (!pipe) return unexpected(pipe.error().code, "cores are not counted: " + pipe.error().message);
  UniqueFd reading = std::move(pipe->read);
  const UniqueFd writing = std::move(pipe->write);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return unexpected(Code::kExhausted,
                      std::string("cores are not counted: no process: ") + std::strerror(errno));
  }
  if (child == 0) {
    // The child dies with this process, even if this process has already ended. It prints nothing.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    const auto counted = count_cores();
    const double cores = counted ? *counted : 0;
    const ssize_t told = ::write(writing.get(), &cores, sizeof cores);
    ::_exit(told == static_cast<ssize_t>(sizeof cores) ? 0 : 1);
  }
  pid_ = child;
  pipe_ = std::move(reading);
  return {};
}

std::optional<double> CoreCount::collect() {
  double cores = 0;
  ssize_t got = 0;
  do {
    got = ::read(pipe_.get(), &cores, sizeof cores);
  } while (got < 0 && errno == EINTR);
  pipe_.reset();
  ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  if (got != static_cast<ssize_t>(sizeof cores) || !(cores > 0)) return std::nullopt;
  return cores;
}

}  // namespace xylem::backend
