#include "launch/listening.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace xylem::launch {

JobReach reach_of(const CommandFacts& facts, const std::vector<std::string>& environment) {
  if (facts.is_local) return {};
  const bool has_many_nodes = std::atoi(variable(environment, "SLURM_JOB_NUM_NODES").c_str()) > 1;
  return {true, facts.launcher != Launcher::kNone || has_many_nodes};
}

std::string listening_address(const std::string& interface, bool widely,
                              const std::vector<net::InterfaceAddress>& all) {
  if (interface == "all") return net::any_address(all);
  if (interface == "auto") {
    const bool is_alone = all.empty() || all.front().loopback;
    return widely && !is_alone ? all.front().address : "127.0.0.1";
  }
  const auto it = std::ranges::find(all, interface, &net::InterfaceAddress::interface);
  return it != all.end() ? it->address : interface;
}

Result<Listening> listen_for_run(const StartOptions& options, bool widely) {
  const std::vector<net::InterfaceAddress> all = net::interface_addresses();
  const std::string address = listening_address(options.interface, widely, all);
  auto socket = net::listen_tcp(address, options.port);
  if (!socket && socket.error().code == Code::kInvalidArgument) {
    std::string names;
    for (const auto& it : all) names += " " + it.interface + " (" + it.address + ")";
    return unexpected(Code::kInvalidArgument,
                      "--interface: " + socket.error().message + "; this host has" + names);
  }
  if (!socket) return unexpected(std::move(socket.error()));
  auto port = net::bound_port(*socket);
  if (!port) return unexpected(std::move(port.error()));
  Listening listening;
  listening.socket = *std::move(socket);
  listening.port = *port;
  listening.reachable = net::reachable_addresses(address, all);
  listening.is_loopback = std::ranges::all_of(all, [&](const net::InterfaceAddress& it) {
    return it.loopback ||
           std::ranges::find(listening.reachable, it.address) == listening.reachable.end();
  });
  return listening;
}

}  // namespace xylem::launch
