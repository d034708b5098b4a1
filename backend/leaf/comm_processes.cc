#include "backend/leaf/comm_processes.h"

#include "base/log.h"

namespace xylem::backend {

std::optional<wire::CommProcessReport> CommProcesses::start(const wire::StartCommProcess& order,
                                                            overlay::Network& network) {
  auto started = starter_.start(order.node, order.level);
  if (!started) {
    wire::CommProcessReport report;
    report.node = order.node;
    report.failure = std::move(started.error().message);
    return report;
  }
  const int fd = started->pidfd.get();
  if (fd < 0)
    return std::nullopt;  // Without a pidfd its end is not noticed. The system collects it when
                          // this process ends.
  children_.emplace(fd, std::pair(order.node, *std::move(started)));
  network.watch(fd);
  return std::nullopt;
}

std::optional<wire::CommProcessReport> CommProcesses::collect(int pidfd,
                                                              overlay::Network& network) {
  const auto it = children_.find(pidfd);
  if (it == children_.end()) return std::nullopt;
  wire::CommProcessReport report;
  report.node = it->second.first;
  report.failure = starter_.collect(it->second.second.pid);
  network.unwatch(pidfd);
  children_.erase(it);
  if (report.failure.empty()) return std::nullopt;
  log(Level::kWarn, "communication process ended", {{"why", report.failure}});
  return report;
}

}  // namespace xylem::backend
