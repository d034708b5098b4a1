#pragma once

// Where the front end listens for TCP connections, and who must be able to reach it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launch/launch.h"
#include "launch/start_options.h"
#include "net/runtime.h"

namespace xylem::launch {

/// The hosts of a job, as far as they are known before it starts.
struct JobReach {
  /// The job may use other hosts; false only if it certainly does not.
  bool may_leave_host = false;
  bool is_remote = false;  ///< The job is known to use other hosts.
};

/// Returns which hosts a job may use. If `facts` say that the job is local, both flags are false.
/// Otherwise `may_leave_host` is true. Then `is_remote` is true if a known launcher starts the job,
/// or if the Slurm allocation in `environment` (NAME=VALUE strings) has several nodes.
JobReach reach_of(const CommandFacts& facts, const std::vector<std::string>& environment);

/// The address for `--interface`: `auto`, `all`, the name of an interface, or a numeric address.
/// The parameter `all` has the addresses of this host. `widely`: other hosts must reach the front
/// end. `auto` is the first address of this host, but loopback if no other host must reach it or if
/// there is no other address.
std::string listening_address(const std::string& interface, bool widely,
                              const std::vector<net::InterfaceAddress>& all);

struct Listening {
  UniqueFd socket;
  std::uint16_t port = 0;
  std::vector<std::string> reachable;  ///< The numeric addresses at which others reach the socket.
  bool is_loopback = false;            ///< All of these addresses are loopback.
};

/// Listens at the listening_address() of the options. Fails as net::listen_tcp. If the host has no
/// such interface, the message lists the host's interfaces.
Result<Listening> listen_for_run(const StartOptions& options, bool widely);

}  // namespace xylem::launch
