#pragma once

// The agent's interface for starting communication processes.

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/key.h"

namespace xylem::backend {

/// A child that was started.
struct StartedProcess {
  int pid = 0;
  UniqueFd pidfd;  ///< Readable when it has ended.
};

/// One thread.
class ProcessStarter {
 public:
  virtual ~ProcessStarter() = default;
  /// Starts a communication process. Fails with a sentence that names the program.
  virtual Result<StartedProcess> start(NodeId node, std::uint32_t level) = 0;
  /// Collects a child that has ended. Empty if it ended normally, else the reason.
  virtual std::string collect(int pid) = 0;
};

/// The settings of a communication process.
struct CommProcessSetting {
  std::string program;  ///< Absolute path of xylem-commproc.
  std::string run;
  std::string front_end;  ///< host:port[,host:port]
  std::string folder;     ///< The host's run folder, for its Unix socket; empty: none.
  std::string host;       ///< This host's name, for notices.
  std::string host_key;
  bool tls = true;
  std::string log_level = "warn";
  Nanos orphan_limit = 60 * kSecond;  ///< It ends after this long without a parent; at most a day.
  net::Key key{};
};

/// Starts each program in its own session, with standard input and output on /dev/null, standard
/// error in a pipe to us that never blocks it, and without our other descriptors. The command line
/// is
///   xylem-commproc --run RUN --node N --level N --front-end ADDRESSES --key-fd 4 --host NAME
///                  --host-key KEY --socket FOLDER/commproc-N --tls on|off --log-level LEVEL
///                  --orphan-limit SECONDS
/// If it ended with an error, the text of collect() ends with the last line of its standard error.
/// The key is in the pipe on descriptor 4, never on a command line or in an environment.
class CommProcessStarter final : public ProcessStarter {
 public:
  explicit CommProcessStarter(CommProcessSetting setting);
  Result<StartedProcess> start(NodeId node, std::uint32_t level) override;
  std::string collect(int pid) override;

 private:
  CommProcessSetting setting_;
  std::map<int, UniqueFd> errors_;  // Standard error of each child, by its process id.
};

}  // namespace xylem::backend
