#pragma once

// Starting back ends on hosts, by whatever runs a command there.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace xylem::frontend {

/// True for "", "localhost", loopback addresses and this host's own names.
bool is_this_host(const std::string& host);

/// Starts a program on a host, with `environment` ("NAME=value") added to what it has there.
///
/// Here: directly. Elsewhere, or when a launcher is given: "LAUNCHER HOST sh", whose standard input
/// gets a script with environment and command; so nothing secret stands on a command line, and
/// launchers that join their arguments to a shell command do as well as those that do not. Without
/// a launcher that is ssh.
///
/// Returns the child's process id; it is the caller's to collect. Its standard input is empty; the
/// other two streams are ours. Fails with kNotFound when the program, or the launcher, cannot be
/// started here.
Result<pid_t> launch_on(const std::string& host, const std::string& launcher,
                        const std::vector<std::string>& command,
                        const std::vector<std::string>& environment);

}  // namespace xylem::frontend
