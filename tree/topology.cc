#include "tree/topology.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/check.h"

namespace xylem::tree {
namespace {

/// Maximum number of names on a cycle that an error message shows.
constexpr std::size_t kNamesShown = 8;
constexpr std::size_t kMaxHostName = 253;  // RFC 1035

struct ProcessHash {
  std::size_t operator()(const Process& process) const {
    return std::hash<std::string>()(process.host) * 31 + process.instance;
  }
};

using Index = std::uint32_t;

/// Branches as a graph over dense numbers, so that the searches below are linear.
class Graph {
 public:
  explicit Graph(std::span<const Branch> branches) : branches_(branches) {
    for (std::size_t b = 0; b < branches.size(); ++b) {
      const Index parent = intern(branches[b].parent);
      branches_of_[parent].push_back(b);
      children_.emplace_back();
      for (const Process& child : branches[b].children) {
        const Index number = intern(child);
        children_.back().push_back(number);
        is_child_[number] = true;
      }
      parents_.push_back(parent);
    }
  }

  std::size_t size() const { return names_.size(); }
  const Process& name(Index process) const { return *names_[process]; }
  bool is_child(Index process) const { return is_child_[process]; }
  Index parent_of(std::size_t branch) const { return parents_[branch]; }
  std::span<const Index> children_of(std::size_t branch) const { return children_[branch]; }
  std::span<const std::size_t> branches_of(Index process) const { return branches_of_[process]; }
  std::size_t branches() const { return branches_.size(); }

 private:
  Index intern(const Process& process) {
    const auto [entry, added] = numbers_.try_emplace(process, static_cast<Index>(names_.size()));
    if (added) {
      names_.push_back(&process);
      is_child_.push_back(false);
      branches_of_.emplace_back();
    }
    return entry->second;
  }

  std::span<const Branch> branches_;
  std::unordered_map<Process, Index, ProcessHash> numbers_;
  std::vector<const Process*> names_;
  std::vector<bool> is_child_;
  std::vector<Index> parents_;                // By branch.
  std::vector<std::vector<Index>> children_;  // By branch.
  std::vector<std::vector<std::size_t>> branches_of_;
};

/// Searches for a cycle depth first. It has its own stack, because a file may contain a chain of
/// any length.
class CycleSearch {
 public:
  explicit CycleSearch(const Graph& graph) : graph_(graph), state_(graph.size(), State::kNew) {}

  std::optional<TopologyFault> run() {
    // Starts with processes that are nobody's child. So the reported link is the one that goes back
    // up, not one that leads down.
    for (const bool as_child : {false, true}) {
      for (Index start = 0; start < graph_.size(); ++start) {
        if (graph_.is_child(start) != as_child || state_[start] != State::kNew) continue;
        if (auto fault = search(start)) return fault;
      }
    }
    return std::nullopt;
  }

 private:
  enum class State : char { kNew, kOpen, kDone };
  struct Frame {
    Index process;
    std::size_t branch = 0;  // Index within branches_of(process).
    std::size_t child = 0;
  };

  std::optional<TopologyFault> search(Index start) {
    open(start);
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      const auto branches = graph_.branches_of(top.process);
      if (top.branch == branches.size()) {
        state_[top.process] = State::kDone;
        stack_.pop_back();
        continue;
      }
      const std::size_t branch = branches[top.branch];
      const auto children = graph_.children_of(branch);
      if (top.child == children.size()) {
        ++top.branch;
        top.child = 0;
        continue;
      }
      const std::size_t position = top.child++;
      const Index child = children[position];
      if (state_[child] == State::kOpen) return fault(child, {branch, position});
      if (state_[child] == State::kNew) open(child);
    }
    return std::nullopt;
  }

  void open(Index process) {
    state_[process] = State::kOpen;
    stack_.push_back(Frame{process});
  }

  TopologyFault fault(Index target, BranchPlace at) const {
    std::string what = "cycle: ";
    const auto begin = std::find_if(stack_.begin(), stack_.end(),
                                    [&](const Frame& frame) { return frame.process == target; });
    const auto length = static_cast<std::size_t>(stack_.end() - begin);
    for (std::size_t i = 0; i < std::min(length, kNamesShown); ++i) {
      what += to_text(graph_.name(begin[static_cast<std::ptrdiff_t>(i)].process)) + " => ";
    }
    if (length > kNamesShown) what += "... => ";
    what += to_text(graph_.name(target));
    return {at, std::nullopt, std::move(what), "take one of these links out"};
  }

  const Graph& graph_;
  std::vector<State> state_;
  std::vector<Frame> stack_;
};

std::optional<TopologyFault> find_bad_name(std::span<const Branch> branches) {
  const auto fault = [](const Process& process, BranchPlace at) {
    return TopologyFault{at, std::nullopt, "'" + process.host + "' is not a host name",
                         "use letters, digits, '.', '-' and '_', at most 253 of them"};
  };
  for (std::size_t b = 0; b < branches.size(); ++b) {
    if (!is_host_name(branches[b].parent.host)) return fault(branches[b].parent, {b, {}});
    for (std::size_t c = 0; c < branches[b].children.size(); ++c) {
      const Process& child = branches[b].children[c];
      if (!is_host_name(child.host)) return fault(child, {b, c});
    }
  }
  return std::nullopt;
}

TopologyFault repeated(const Process& process, const char* as, BranchPlace at, BranchPlace first) {
  const bool child = at.child.has_value();
  return {at, first,
          "host " + process.host + " is named twice: " + to_text(process) + " is a " + as +
              " here and before",
          child ? "give each process of a host a number of its own"
                : "put all children of a process into one statement"};
}

std::optional<TopologyFault> find_repeated(const Graph& graph) {
  std::vector<std::optional<BranchPlace>> as_parent(graph.size());
  std::vector<std::optional<BranchPlace>> as_child(graph.size());
  for (std::size_t b = 0; b < graph.branches(); ++b) {
    const Index parent = graph.parent_of(b);
    const BranchPlace here{b, {}};
    if (as_parent[parent]) return repeated(graph.name(parent), "parent", here, *as_parent[parent]);
    as_parent[parent] = here;
    const auto children = graph.children_of(b);
    for (std::size_t c = 0; c < children.size(); ++c) {
      auto& first = as_child[children[c]];
      if (first) return repeated(graph.name(children[c]), "child", BranchPlace{b, c}, *first);
      first = BranchPlace{b, c};
    }
  }
  return std::nullopt;
}

std::optional<TopologyFault> find_unconnected(const Graph& graph) {
  std::optional<std::size_t> root;
  for (std::size_t b = 0; b < graph.branches(); ++b) {
    const Index parent = graph.parent_of(b);
    if (graph.is_child(parent)) continue;
    if (!root) {
      root = b;
      continue;
    }
    return TopologyFault{{b, {}},
                         BranchPlace{*root, {}},
                         to_text(graph.name(parent)) +
                             " is not connected: it is nobody's child, and neither is " +
                             to_text(graph.name(graph.parent_of(*root))),
                         "a tree has one front end; make one of the two a child"};
  }
  return std::nullopt;
}

Error too_large(std::size_t processes) {
  return {Code::kInvalidArgument,
          "a topology of " + std::to_string(processes) + " processes is too large; the limit is " +
              std::to_string(kMaxCommProcesses) + " communication processes"};
}

}  // namespace

std::string to_text(const Process& process) {
  return process.host + ":" + std::to_string(process.instance);
}

bool is_host_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kMaxHostName && std::ranges::all_of(name, allowed);
}

Topology::Topology(Process front_end) { processes_.push_back(std::move(front_end)); }

Topology::Topology(Skeleton skeleton, std::vector<Process> processes)
    : skeleton_(std::move(skeleton)), processes_(std::move(processes)) {}

Result<Topology> Topology::make(Skeleton skeleton, std::vector<Process> processes) {
  if (skeleton.size() != processes.size()) {
    return unexpected(Code::kInvalidArgument, "a tree of " + std::to_string(skeleton.size()) +
                                                  " nodes needs as many names, not " +
                                                  std::to_string(processes.size()));
  }
  std::unordered_set<Process, ProcessHash> seen;
  for (const Process& process : processes) {
    if (!is_host_name(process.host)) {
      return unexpected(
          Code::kInvalidArgument,
          "'" + process.host +
              "' is not a host name; a topology holds letters, digits, '.', '-' and '_'");
    }
    if (!seen.insert(process).second) {
      return unexpected(Code::kInvalidArgument, "host " + process.host +
                                                    " is named twice: " + to_text(process) +
                                                    "; give each of its processes its own number");
    }
  }
  return Topology(std::move(skeleton), std::move(processes));
}

std::optional<TopologyFault> find_fault(std::span<const Branch> branches) {
  if (auto fault = find_bad_name(branches)) return fault;
  const Graph graph(branches);
  if (auto fault = CycleSearch(graph).run()) return fault;
  if (auto fault = find_repeated(graph)) return fault;
  return find_unconnected(graph);
}

Result<Topology> Topology::make(std::span<const Branch> branches,
                                std::vector<BranchPlace>* places) {
  if (branches.empty()) {
    return unexpected(Code::kInvalidArgument,
                      "no process is named; name at least the front end: head:0 ;");
  }
  if (const auto fault = find_fault(branches)) {
    return unexpected(Code::kInvalidArgument, fault->what + "; " + fault->remedy);
  }
  const Graph graph(branches);
  if (graph.size() > kMaxCommProcesses + 1) return unexpected(too_large(graph.size()));
  std::vector<Index> order;
  std::vector<BranchPlace> where;
  for (std::size_t b = 0; b < graph.branches(); ++b) {
    if (graph.is_child(graph.parent_of(b))) continue;
    order.push_back(graph.parent_of(b));
    where.push_back({b, {}});
  }
  CHECK(order.size() == 1);
  std::vector<std::uint32_t> child_counts;
  std::vector<Process> processes;
  for (std::size_t next = 0; next < order.size(); ++next) {
    processes.push_back(graph.name(order[next]));
    child_counts.push_back(0);
    for (const std::size_t b : graph.branches_of(order[next])) {
      const auto children = graph.children_of(b);
      child_counts.back() += static_cast<std::uint32_t>(children.size());
      for (std::size_t c = 0; c < children.size(); ++c) {
        order.push_back(children[c]);
        where.push_back({b, c});
      }
    }
  }
  if (places != nullptr) *places = std::move(where);
  return Topology(Skeleton(child_counts), std::move(processes));
}

const Process& Topology::process(NodeId node) const {
  CHECK(raw(node) < size());
  return processes_[raw(node)];
}

std::optional<NodeId> Topology::find(const Process& process) const {
  const auto found = std::ranges::find(processes_, process);
  if (found == processes_.end()) return std::nullopt;
  return NodeId{static_cast<std::uint32_t>(found - processes_.begin())};
}

}  // namespace xylem::tree
