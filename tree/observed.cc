#include "tree/observed.h"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace xylem::tree {

Result<Topology> topology_of(std::span<const ObservedProcess> processes) {
  std::map<NodeId, const ObservedProcess*> by_id;
  for (const ObservedProcess& process : processes) {
    if (!by_id.emplace(process.id, &process).second) {
      return unexpected(Code::kInvalidArgument, "process " + std::to_string(raw(process.id)) +
                                                    " of the tree is there twice");
    }
  }
  if (!by_id.contains(kFrontEndNode)) {
    return unexpected(Code::kNotFound, "no front end is known; the tree was never there");
  }
  std::map<NodeId, std::vector<const ObservedProcess*>> children;
  for (const auto& [id, process] : by_id) {
    if (id != kFrontEndNode) children[process->parent].push_back(process);
  }
  // Breadth first from the front end. Processes that are not reached are left out.
  std::vector<const ObservedProcess*> order = {by_id.at(kFrontEndNode)};
  std::vector<std::uint32_t> child_counts;
  for (std::size_t next = 0; next < order.size(); ++next) {
    const auto below = children.find(order[next]->id);
    const std::size_t count = below == children.end() ? 0 : below->second.size();
    child_counts.push_back(static_cast<std::uint32_t>(count));
    if (order.size() + count > kMaxCommProcesses + 1) {
      return unexpected(Code::kInvalidArgument,
                        "the recorded tree has more than " + std::to_string(kMaxCommProcesses) +
                            " communication processes, the maximum of a topology");
    }
    if (count > 0) order.insert(order.end(), below->second.begin(), below->second.end());
  }
  std::map<NodeId, Process> names;
  for (const ObservedProcess* process : order) names[process->id].host = process->host;
  std::map<std::string, std::uint32_t> used;
  for (auto& [id, name] : names) name.instance = used[name.host]++;
  std::vector<Process> named;
  named.reserve(order.size());
  for (const ObservedProcess* process : order) named.push_back(names.at(process->id));
  return Topology::make(Skeleton(child_counts), std::move(named));
}

}  // namespace xylem::tree
