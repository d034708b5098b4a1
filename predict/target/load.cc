// Targets with the files that they name, and the nodes of ranks.

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "base/ids.h"
#include "base/quoted.h"
#include "base/saturating.h"
#include "base/text_file.h"
#include "predict/target/shape_internal.h"
#include "predict/target/target.h"

namespace xylem::predict {
namespace {

Unexpected wrong(const std::string& what) { return unexpected(Code::kInvalidArgument, what); }

Result<std::string> read_named(const std::string& target, const std::string& file,
                               std::string_view what, std::string& path) {
  path = (std::filesystem::path(target).parent_path() / file).string();
  auto text = read_text_file(path, what);
  if (text && text->size() > kMaxTextBytes) {
    return wrong(path + ": is larger than " + std::to_string(kMaxTextBytes >> 20) +
                 " MiB; make it smaller");
  }
  return text;
}

Result<std::unique_ptr<Topology>> topology_of(const LoadedTarget& of) {
  const TopologyOptions& options = of.target.topology;
  if (options.kind != TopologyKind::kGraph) return make_topology(options);
  std::string path;
  const auto text = read_named(of.path, options.file, "topology", path);
  if (!text) return unexpected(text.error());
  return parse_graph(*text, path);
}

Result<void> load_topology(LoadedTarget& to) {
  if (to.target.topology.kind == TopologyKind::kNone) return {};
  auto topology = topology_of(to);
  if (!topology) return unexpected(std::move(topology.error()));
  to.topology = *std::move(topology);
  std::string fault = fault_of_storage(to.target, *to.topology);
  if (fault.empty()) fault = fault_of_count(to.target, *to.topology);
  return fault.empty() ? Result<void>() : Result<void>(wrong(to.path + ": " + fault));
}

/// Nodes that ranks may use. 0: any number.
std::uint64_t nodes_of(const LoadedTarget& of) {
  if (of.target.nodes > 0) return of.target.nodes;
  return of.topology ? of.topology->nodes() - of.target.storage.nodes : 0;
}

/// The nodes on which ranks may be, in their order: all but the storage nodes, `count` of them.
std::vector<Node> compute_nodes(const LoadedTarget& of, std::uint64_t count) {
  std::vector<std::uint32_t> taken = of.target.storage.attached;
  std::ranges::sort(taken);
  std::vector<Node> nodes;
  nodes.reserve(count);
  std::size_t next = 0;
  for (std::uint32_t node = 0; nodes.size() < count; ++node) {
    if (next < taken.size() && taken[next] == node) {
      ++next;
    } else {
      nodes.push_back(Node{node});
    }
  }
  return nodes;
}

/// The key that says how many ranks a node may have.
std::string key_of_room(const Target& target) {
  return target.processes > 0 ? "node.processes" : "node.cores";
}

Result<std::vector<Node>> place_by_file(const LoadedTarget& on, std::size_t ranks) {
  const Mapping& mapping = on.mapping;
  if (mapping.nodes.size() < ranks) {
    return wrong(mapping.path + ": has nodes for " + std::to_string(mapping.nodes.size()) +
                 (mapping.nodes.size() == 1 ? " rank" : " ranks") + ", but " +
                 std::to_string(ranks) + " are needed; add a node for each rank");
  }
  std::vector<Node> nodes(mapping.nodes.begin(),
                          mapping.nodes.begin() + static_cast<std::ptrdiff_t>(ranks));
  // Storage nodes that are listed lie between the others.
  const bool is_listed = on.topology && !on.target.storage.attached.empty();
  const std::uint64_t limit = is_listed ? on.topology->nodes() : nodes_of(on);
  std::vector<Node> storage = on.topology ? storage_nodes(on) : std::vector<Node>{};
  std::ranges::sort(storage);
  std::vector<std::uint32_t> ranks_on;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t node = raw(nodes[rank]);
    const std::string which = mapping.path + ":" + std::to_string(mapping.lines[rank]) + ": rank " +
                              std::to_string(rank) + " is on node " + std::to_string(node) + ", ";
    if (limit > 0 && node >= limit) {
      return wrong(which + "but the target has " + std::to_string(limit) +
                   " nodes, numbered from 0; use one of these");
    }
    if (std::ranges::binary_search(storage, nodes[rank])) {
      return wrong(which + "which is a storage node; use another node");
    }
    ranks_on.resize(std::max<std::size_t>(ranks_on.size(), node + 1));
    if (++ranks_on[node] > on.target.max_ranks()) {
      return wrong(which + "which has more than " + std::to_string(on.target.max_ranks()) +
                   " ranks, the maximum of a node; use another node, or raise " +
                   key_of_room(on.target));
    }
  }
  return nodes;
}

}  // namespace

Result<LoadedTarget> load_target(const std::string& path) {
  const auto entries = load_config(path);
  if (!entries) return unexpected(entries.error());
  auto target = read_target(*entries, path);
  if (!target) return unexpected(std::move(target.error()));
  LoadedTarget loaded{*std::move(target), nullptr, {}, path};
  if (auto topology = load_topology(loaded); !topology) return unexpected(topology.error());
  if (loaded.target.mapping == MappingKind::kFile) {
    std::string file;
    const auto text = read_named(path, loaded.target.mapping_file, "mapping", file);
    if (!text) return unexpected(text.error());
    auto mapping = parse_mapping(*text, file);
    if (!mapping) return unexpected(std::move(mapping.error()));
    loaded.mapping = *std::move(mapping);
  }
  return loaded;
}

Result<Mapping> parse_mapping(std::string_view text, std::string_view name) {
  constexpr std::string_view kBlanks = " \t\r";
  Mapping mapping{std::string(name), {}, {}};
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = line.substr(0, line.find('#'));
    while (true) {
      line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
      if (line.empty()) break;
      const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
      line.remove_prefix(word.size());
      std::uint32_t node = 0;
      const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), node);
      if (failed != std::errc{} || stop != word.data() + word.size() || node >= kMaxChannels) {
        return wrong(std::string(name) + ":" + std::to_string(number) + ": " + quoted(word) +
                     " is not a node; write a number from 0 to " +
                     std::to_string(kMaxChannels - 1));
      }
      mapping.nodes.push_back(Node{node});
      mapping.lines.push_back(number);
    }
  }
  return mapping;
}

Result<std::vector<Node>> place_ranks(const LoadedTarget& target, std::size_t ranks) {
  const Target& on = target.target;
  if (on.mapping == MappingKind::kFile) return place_by_file(target, ranks);
  const std::uint64_t nodes = nodes_of(target);
  const std::uint32_t room = on.max_ranks();
  if (nodes > 0 && ranks > saturating_multiply<std::uint64_t>(nodes, room)) {
    return wrong(target.path + ": has room for " + std::to_string(nodes * room) + " ranks (" +
                 std::to_string(nodes) + " nodes, " + key_of_room(on) + " = " +
                 std::to_string(room) + "), but " + std::to_string(ranks) +
                 " are needed; raise one of both");
  }
  std::vector<Node> placed;
  if (!target.topology && room == 1) return placed;
  placed.reserve(ranks);
  const std::uint64_t used = (ranks + room - 1) / room;
  const std::vector<Node> among =
      compute_nodes(target, on.mapping == MappingKind::kCyclic ? nodes : used);
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    placed.push_back(among[on.mapping == MappingKind::kCyclic ? rank % among.size() : rank / room]);
  }
  return placed;
}

std::vector<Node> storage_nodes(const LoadedTarget& target) {
  const StorageOptions& storage = target.target.storage;
  std::vector<Node> nodes;
  for (std::uint32_t i = 0; i < storage.nodes; ++i) {
    const std::uint32_t first = target.topology ? target.topology->nodes() - storage.nodes : 0;
    nodes.push_back(Node{storage.attached.empty() ? first + i : storage.attached[i]});
  }
  return nodes;
}

}  // namespace xylem::predict
