#pragma once

// Chooses the address at which the front end listens for TCP connections.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launch/launch.h"
#include "launch/start_options.h"
#include "net/runtime.h"

namespace xylem::launch {

/// Facts about the hosts of a job that are known before the job starts.
struct JobReach {
  /// True if the job may use other hosts. False only if it certainly does not.
  bool may_leave_host = false;
  bool is_remote = false;  ///< True if the job probably uses other hosts.
};

/// Returns which hosts a job may use. If `facts` say that the job is local, both flags are false.
/// Otherwise `may_leave_host` is true. Then `is_remote` is true if a known launcher starts the job,
/// or if the Slurm allocation in `environment` (NAME=VALUE strings) has several nodes.
JobReach reach_of(const CommandFacts& facts, const std::vector<std::string>& environment);

/// Returns the address to listen on. The parameter `interface` is the value of `--interface`:
/// `auto`, `all`, the name of an interface, or a numeric address. The parameter `all` has the
/// addresses of this host.
///
/// `widely` is true if other hosts must reach the front end. Then the result for `auto` is the
/// first address of this host. If `widely` is false, or if this host has only loopback, the result
/// for `auto` is the loopback address.
std::string listening_address(const std::string& interface, bool widely,
                              const std::vector<net::InterfaceAddress>& all);

struct Listening {
  UniqueFd socket;
  std::uint16_t port = 0;
  std::vector<std::string> reachable;  ///< Numeric addresses at which others reach the socket.
  bool is_loopback = false;            ///< True if all addresses in `reachable` are loopback.
};

/// Listens at the listening_address() of the options. Fails if net::listen_tcp() fails. If the host
/// does not have the interface, the message lists the host's interfaces.
Result<Listening> listen_for_run(const StartOptions& options, bool widely);

}  // namespace xylem::launch
