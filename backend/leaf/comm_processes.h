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

/// Starts communication processes on the front end's request, and collects their exit status. Not
/// thread-safe; starter and network are borrowed.
class CommProcesses {
 public:
  explicit CommProcesses(ProcessStarter& starter) : starter_(starter) {}

  /// Starts and watches a child. Returns a report for the front end if the child could not be
  /// started.
  std::optional<wire::CommProcessReport> start(const wire::StartCommProcess& order,
                                               overlay::Network& network);
  /// Call it when a watched descriptor is readable. Returns a report if a child has ended with an
  /// error.
  std::optional<wire::CommProcessReport> collect(int pidfd, overlay::Network& network);

 private:
  ProcessStarter& starter_;
  std::map<int, std::pair<NodeId, StartedProcess>> children_;
};

}  // namespace xylem::backend
