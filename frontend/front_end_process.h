#pragma once

// The front end as a child process of `xylem run` and `xylem serve`.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "frontend/setup.h"

namespace xylem::frontend {

/// The listening sockets stay open here, so the address outlives the process. The child runs in a
/// session of its own, so that keys pressed at the terminal do not reach it.
class FrontEndProcess {
 public:
  /// Starts `program` and waits until it has opened the store. Fails with its sentence when it
  /// cannot, kNotFound when the program cannot be started.
  static Result<FrontEndProcess> start(const std::string& program, const Setup& setup,
                                       const std::vector<UniqueFd>& listening);

  pid_t pid() const noexcept { return pid_; }

  /// The sentence, once, when the process has died while the job runs; else empty.
  std::string news_of_its_death();

  /// Tells it that the job has ended, and waits until everything is stored. Fails with
  /// kUnavailable when it died before it had said that it was done. Of the signals that SignalGate
  /// blocks, a first one is answered with a sentence; a second one ends the front end.
  Result<void> finish(int exit_code);

 private:
  void wait_for_answer();

  FrontEndProcess(pid_t pid, UniqueFd control) : pid_(pid), control_(std::move(control)) {}

  pid_t pid_;
  UniqueFd control_;
  bool death_told_ = false;
};

/// The folder where the agents of this host meet: /dev/shm/xylem-UID-RUN.
std::string run_folder(const std::string& run);

/// The front end's own folder on its host, beside that, and the socket in it at which agents and
/// communication processes of this host reach it.
std::string front_end_folder(const std::string& run);
std::string front_end_socket(const std::string& run);

}  // namespace xylem::frontend
