#pragma once

// The interface through which a leaf starts communication processes on its host.

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/key.h"

namespace xylem::backend {

/// A started child process.
struct StartedProcess {
  int pid = 0;
  UniqueFd pidfd;  ///< Readable when the process has ended; empty if the system has none.
};

/// Not thread-safe.
class ProcessStarter {
 public:
  virtual ~ProcessStarter() = default;
  /// Starts a communication process. Fails with kNotFound if the program cannot be run; the
  /// message has its path. Fails with kExhausted or kInternal if the system has no process or
  /// pipe for it. May wait until the program runs.
  virtual Result<StartedProcess> start(NodeId node, std::uint32_t level) = 0;
  /// Collects a child that has ended; call it once, when the pidfd is readable. Returns an empty
  /// text if the child ended normally, else the reason.
  virtual std::string collect(int pid) = 0;
};

/// The settings of a communication process.
struct CommProcessSetting {
  std::string program;  ///< Absolute path of xylem-commproc.
  std::string run;
  std::string front_end;  ///< host:port[,host:port]
  std::string folder;  ///< The host's run folder, for the process's Unix socket; empty: no socket.
  std::string host;    ///< This host's name, for notices.
  std::string host_key;
  bool tls = true;
  std::string log_level = "warn";
  Nanos orphan_limit = 60 * kSecond;  ///< The process ends after this time without a parent; 1 s to
                                      ///< a day.
  net::Key key{};
};

/// Starts each communication process in a new session. Standard input and output are /dev/null.
/// Standard error is a non-blocking pipe to this process. The child inherits none of our other
/// descriptors. The command line is
///   xylem-commproc --run RUN --node N --level N --front-end ADDRESSES --key-fd 4 --host NAME
///                  --host-key KEY --socket FOLDER/commproc-N --tls on|off --log-level LEVEL
///                  --orphan-limit SECONDS
/// The child reads the key from a pipe, descriptor 4. The key is never on a command line or in an
/// environment. If the child ended with an error code, the text of collect() ends with the last
/// line of the child's standard error, if there is one. Not thread-safe.
class CommProcessStarter final : public ProcessStarter {
 public:
  explicit CommProcessStarter(CommProcessSetting setting);
  Result<StartedProcess> start(NodeId node, std::uint32_t level) override;
  std::string collect(int pid) override;

 private:
  CommProcessSetting setting_;
  std::map<int, UniqueFd> errors_;  // Standard error of each child, by pid.
};

}  // namespace xylem::backend
