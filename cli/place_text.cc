#include "cli/place_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "storage/read/query.h"
#include "viz/reply.h"

namespace xylem {
namespace {

std::string quoted(const std::string& text) { return storage::to_json(storage::Value(text)); }

/// Returns, for each internal leaf, how many back ends of each host attach to it.
std::vector<std::map<HostId, std::size_t>> attached_to(const placement::Plan& plan,
                                                       std::span<const tree::Host> hosts) {
  const auto back_ends = placement::hosts_of_back_ends(hosts);
  const auto chosen = placement::attach(back_ends, plan.internal_leaves);
  CHECK(chosen);  // A plan always has an internal leaf.
  std::vector<std::map<HostId, std::size_t>> taken(plan.internal_leaves.size());
  for (std::size_t i = 0; i < back_ends.size(); ++i) ++taken[(*chosen)[i]][back_ends[i]];
  return taken;
}

std::vector<std::size_t> carried_by(const placement::Plan& plan, std::size_t hosts) {
  std::vector<std::size_t> carried(hosts);
  for (const auto& process : plan.comm_processes) ++carried[raw(process.host)];
  return carried;
}

std::string json_hosts(const placement::Plan& plan, std::span<const tree::Host> hosts,
                       std::span<const std::uint64_t> room,
                       const std::vector<std::size_t>& carried) {
  std::string text;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const bool is_limited = i < room.size() && room[i] != placement::kUnlimited;
    text += fmt::format(
        "{}\n    {{\"host\": {}, \"back_ends\": {}, \"processes\": {}, \"comm_processes\": {}, "
        "\"room\": {}, \"score\": {}}}",
        i == 0 ? "" : ",", quoted(hosts[i].name), hosts[i].back_ends, hosts[i].processes,
        carried[i], is_limited ? fmt::to_string(room[i]) : "null",
        plan.fuzzy ? fmt::to_string(plan.fuzzy->hosts[i].score) : "null");
  }
  return text;
}

std::string json_nodes(const placement::Plan& plan, std::span<const tree::Host> hosts) {
  std::map<NodeId, std::size_t> back_ends;
  const auto taken = attached_to(plan, hosts);
  for (std::size_t leaf = 0; leaf < taken.size(); ++leaf) {
    for (const auto& [host, count] : taken[leaf]) {
      back_ends[plan.internal_leaves[leaf].node] += count;
    }
  }
  std::string text;
  const tree::Skeleton& skeleton = plan.topology.skeleton();
  for (const NodeId node : skeleton.nodes()) {
    const tree::Process& process = plan.topology.process(node);
    const bool is_root = node == kFrontEndNode;
    text += fmt::format(
        "{}\n    {{\"id\": {}, \"host\": {}, \"instance\": {}, \"parent\": {}, \"level\": {}, "
        "\"back_ends\": {}}}",
        is_root ? "" : ",", raw(node), quoted(process.host), process.instance,
        is_root ? "null" : fmt::to_string(raw(skeleton.parent(node))), skeleton.level(node),
        back_ends[node]);
  }
  return text;
}

}  // namespace

std::string place_json(const placement::Plan& plan, std::span<const tree::Host> hosts,
                       std::span<const std::uint64_t> room) {
  const auto carried = carried_by(plan, hosts.size());
  std::vector<std::pair<std::string, std::size_t>> by_name;  // In the order of the hosts.
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto [place, is_new] = places.try_emplace(hosts[i].name, by_name.size());
    if (is_new) by_name.emplace_back(hosts[i].name, 0);
    by_name[place->second].second += carried[i];
  }
  std::string counts;
  for (const auto& [name, count] : by_name) {
    counts += fmt::format("{}{}: {}", counts.empty() ? "" : ", ", quoted(name), count);
  }
  std::size_t back_ends = 0;
  for (const tree::Host& host : hosts) back_ends += host.back_ends;
  return fmt::format(
      "{{\n  \"version\": {},\n  \"view\": \"place\",\n  \"placement\": \"{}\",\n  \"front_end\": "
      "{},\n  \"comm_processes\": {{{}}},\n"
      "  \"hosts\": [{}],\n  \"nodes\": [{}],\n  \"fanout\": {},\n  \"topology\": {}\n}}\n",
      viz::kApiVersion, plan.even ? "even" : (plan.fuzzy ? "fuzzy" : "file"),
      quoted(plan.topology.front_end().host), counts, json_hosts(plan, hosts, room, carried),
      json_nodes(plan, hosts), placement::fanout(back_ends, plan.internal_leaves.size()),
      quoted(print(plan.topology)));
}

std::string place_dot(const placement::Plan& plan, std::span<const tree::Host> hosts) {
  std::string text = "digraph xylem {\n";
  const tree::Skeleton& skeleton = plan.topology.skeleton();
  for (const NodeId node : skeleton.nodes()) {
    text += fmt::format("  n{} [label=\"{}\"];\n", raw(node), to_text(plan.topology.process(node)));
    if (node != kFrontEndNode) {
      text += fmt::format("  n{} -> n{};\n", raw(skeleton.parent(node)), raw(node));
    }
  }
  const auto taken = attached_to(plan, hosts);
  for (std::size_t leaf = 0; leaf < taken.size(); ++leaf) {
    const std::uint32_t node = raw(plan.internal_leaves[leaf].node);
    for (const auto& [host, count] : taken[leaf]) {
      std::string name;
      for (const char c : hosts[raw(host)].name) name += c == '"' || c == '\\' ? '_' : c;
      text += fmt::format("  n{0}h{1} [label=\"{2}\\n{3} {4}\", shape=box];\n  n{0} -> n{0}h{1};\n",
                          node, raw(host), name, count, count == 1 ? "back end" : "back ends");
    }
  }
  return text + "}\n";
}

}  // namespace xylem
