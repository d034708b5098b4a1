#pragma once

// The communication processes that a leaf has started on its host.

#include <map>
#include <optional>
#include <utility>

#include "backend/leaf/process_starter.h"
#include "base/ids.h"
#include "overlay/node.h"
#include "wire/message.h"

namespace xylem::backend {

/// Starts what the front end orders, and collects what ends. One thread; starter and network are
/// borrowed.
class CommProcesses {
 public:
  explicit CommProcesses(ProcessStarter& starter) : starter_(starter) {}

  /// Watches the child. What is to be told to the front end, when it could not be started.
  std::optional<wire::CommProcessReport> start(const wire::StartCommProcess& order,
                                               overlay::Network& network);
  /// A watched descriptor is readable. What is to be told, when a child of ours has ended badly.
  std::optional<wire::CommProcessReport> collect(int pidfd, overlay::Network& network);

 private:
  ProcessStarter& starter_;
  std::map<int, std::pair<NodeId, StartedProcess>> children_;
};

}  // namespace xylem::backend
