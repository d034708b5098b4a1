#pragma once

// Starts communication processes on hosts without a back end.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "launch/back_end_launch.h"
#include "launch/start_options.h"
#include "net/key.h"
#include "wire/message.h"

namespace xylem::launch {

/// Interface for starting communication processes. Not thread-safe.
class CommProcessLauncher {
 public:
  virtual ~CommProcessLauncher() = default;

  /// Starts a communication process on a host. `addresses` are the addresses of the front end.
  /// Returns descriptors, which the launcher owns: when one of these is readable, call hear().
  /// Fails if launch_on() fails. If the process itself fails later, hear() reports it.
  virtual Result<std::vector<int>> start(NodeId node, std::uint32_t level, const std::string& host,
                                         const std::vector<wire::Address>& addresses) = 0;

  struct Heard {
    bool is_over = false;         ///< True if the caller must no longer watch the descriptor.
    std::optional<NodeId> ended;  ///< The process that has ended; nullopt if none has ended.
    std::string why;              ///< Why the process ended; empty if it ended normally.
  };
  /// Call it when a descriptor is readable. Returns nullopt if the descriptor is not from start().
  virtual std::optional<Heard> hear(int fd) = 0;
};

struct CommProcessLaunchOptions {
  std::string launcher;  ///< `--launcher`; see launch_on().
  std::string program;   ///< Absolute path of xylem-commproc, the same on all hosts.
  std::string run;
  net::Key key{};
  bool tls = true;
  std::string log_level = "warn";
};

/// Starts communication processes with a launcher. The launcher command (`--launcher`) gets a
/// script on its standard input. The script contains the key and sets it in the process's
/// environment, and the process removes the key from there. The destructor does not end the
/// processes. Not thread-safe.
class RemoteCommProcessLauncher final : public CommProcessLauncher {
 public:
  /// Starts nothing yet. The launcher command must not be empty.
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

/// Makes a RemoteCommProcessLauncher from a run's settings. Returns null if the settings have no
/// launcher. Fails if find_installation() fails.
Result<std::unique_ptr<CommProcessLauncher>> make_comm_process_launcher(
    const StartOptions& start, const std::string& run, const net::Key& key,
    const std::string& log_level);

}  // namespace xylem::launch
