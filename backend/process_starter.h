#pragma once

// Starting communication processes, as the agent sees it.

#include <string>
#include <vector>

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
  /// Collects a child that has ended. Empty when it ended as it should, else why it did not.
  virtual std::string collect(int pid) = 0;
};

/// What a communication process is told.
struct CommProcessSetting {
  std::string program;  ///< Absolute path of xylem-commproc.
  std::string run;
  std::string front_end;  ///< host:port[,host:port]
  std::string folder;     ///< The host's run folder, for its Unix socket.
  std::string host_key;
  std::string log_level = "warn";
  net::Key key{};
};

/// Starts programs: a session of their own, standard streams on /dev/null (errors go where ours
/// go), no descriptor of ours. The command line is
///   xylem-commproc --run RUN --node N --level N --front-end ADDRESSES --key-fd 4
///                  --host-key KEY --socket FOLDER/commproc-N --log-level LEVEL
/// and the key stands in the pipe on descriptor 4, never on a command line or in an environment.
class CommProcessStarter final : public ProcessStarter {
 public:
  explicit CommProcessStarter(CommProcessSetting setting);
  Result<StartedProcess> start(NodeId node, std::uint32_t level) override;
  std::string collect(int pid) override;

 private:
  CommProcessSetting setting_;
};

}  // namespace xylem::backend
