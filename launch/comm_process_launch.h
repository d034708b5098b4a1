#pragma once

// Starts communication processes on hosts without a back end.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "launch/back_end_launch.h"
#include "net/key.h"
#include "wire/message.h"

namespace xylem::launch {

/// The interface for starting them. One thread.
class CommProcessLauncher {
 public:
  virtual ~CommProcessLauncher() = default;

  /// Starts one on a host; it finds the front end at `addresses`. Returns descriptors to watch, for
  /// hear(). Fails with a sentence that names program and host.
  virtual Result<std::vector<int>> start(NodeId node, std::uint32_t level, const std::string& host,
                                         const std::vector<wire::Address>& addresses) = 0;

  struct Heard {
    bool is_over = false;         ///< The descriptor need not be watched any more.
    std::optional<NodeId> ended;  ///< This process has ended, ...
    std::string why;              ///< ... and why; empty: normally.
  };
  /// A descriptor is readable. None: it is not ours.
  virtual std::optional<Heard> hear(int fd) = 0;
};

struct CommProcessLaunchOptions {
  std::string launcher;  ///< `--launcher`, see launch_on.
  std::string program;   ///< Absolute path of xylem-commproc, the same on all hosts.
  std::string run;
  net::Key key{};
  bool tls = true;
  std::string log_level = "warn";
};

/// Starts them with a launcher. The key is in the process's environment, which the launcher gets on
/// its standard input; the process removes it.
class RemoteCommProcessLauncher final : public CommProcessLauncher {
 public:
  explicit RemoteCommProcessLauncher(CommProcessLaunchOptions options);
  Result<std::vector<int>> start(NodeId node, std::uint32_t level, const std::string& host,
                                 const std::vector<wire::Address>& addresses) override;
  std::optional<Heard> hear(int fd) override;

 private:
  struct Child {
    std::string host;
    Launched launched;
    UniqueFd pidfd;
  };
  Heard collect(NodeId node, Child& child);

  CommProcessLaunchOptions options_;
  std::map<NodeId, Child> children_;
};

}  // namespace xylem::launch
