#include "predict/target/target.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/ids.h"
#include "base/nearest_word.h"
#include "base/quoted.h"
#include "predict/target/collective_keys_internal.h"
#include "predict/target/shape_internal.h"
#include "predict/target/storage_keys_internal.h"
#include "predict/target/values_internal.h"

namespace xylem::predict {
namespace {

constexpr double kMaxFlopsPerNs = 1e9;
/// A time of 1 ns, or a share of 1, as parse_nanoseconds() reads it.
constexpr std::uint64_t kOne = 1'000'000;

/// Stores a value. "" if it is possible, else what is wrong with it.
using Store = std::string (*)(const std::string& value, Target& target);

/// When a key must be there, and when it may be.
enum class Need : std::uint8_t {
  kAlways,
  kMayBe,
  kWithTopology,      ///< Must be there with a topology, and must not without.
  kWithSeveralRanks,  ///< Must be there if a node has several ranks, and must not without nodes.
  kWithSharedCores,  ///< Must be there if a node has more ranks than cores, and must not otherwise.
  kOfKind,           ///< Depends on topology.kind or mapping.kind.
};

struct Key {
  const char* name;
  Need need;
  Store store;
};

std::string store_share(const std::string& value, Target& target) {
  const auto read = parse_nanoseconds(value);
  if (!read || raw(*read) > kOne) {
    return not_possible(
        value,
        "a decimal number from 0 to 1 such as 0.01, with at most six digits after the point");
  }
  target.fabric.header_share = static_cast<std::uint32_t>(raw(*read));
  return "";
}

std::string store_flops(const std::string& value, Target& target) {
  double& flops = target.flops_per_ns;
  return read_number(value, flops) && flops > 0 && flops <= kMaxFlopsPerNs
             ? ""
             : not_possible(value, "a number above 0 such as 4");
}

std::string store_eager_bytes(const std::string& value, Target& target) {
  return read_number(value, target.network.eager_bytes)
             ? ""
             : quoted(value) + " is not a number of bytes; write a whole number such as 65535";
}

std::string store_slice(const std::string& value, Target& target) {
  return read_number(value, target.slice_ns) && target.slice_ns > 0 &&
                 target.slice_ns <= raw(kMaxParameter) / kOne
             ? ""
             : not_possible(
                   value, "a whole number of nanoseconds from 1 to 1000000000000 such as 4000000");
}

std::string store_sizes(const std::string& value, Target& target) {
  std::vector<std::uint32_t>& sizes = target.topology.sizes;
  std::string_view rest = value;
  while (true) {
    const std::size_t end = rest.find('x');
    if (!read_number(rest.substr(0, end), sizes.emplace_back())) {
      return not_possible(value, "one to three numbers such as \"8x8x4\"");
    }
    if (end == std::string_view::npos) return "";
    rest.remove_prefix(end + 1);
  }
}

std::string store_kind(const std::string& value, Target& target) {
  std::string all;
  for (const Shape& it : shapes()) {
    if (value == it.name) {
      target.topology.kind = it.kind;
      return "";
    }
    all += (all.empty() ? "" : ", ") + std::string(it.name);
  }
  return quoted(value) + " is not a kind of topology; write one of " + all;
}

std::string store_mapping(const std::string& value, Target& target) {
  static constexpr std::array<const char*, 3> kNames = {"block", "cyclic", "file"};
  const auto found = std::ranges::find(kNames, value);
  if (found == kNames.end()) {
    return quoted(value) + " is not a kind of mapping; write one of block, cyclic, file";
  }
  target.mapping = static_cast<MappingKind>(found - kNames.begin());
  return "";
}

std::string store_file(const std::string& value, std::string& file) {
  file = value;
  return value.empty() ? "is empty; write the name of a file" : "";
}

using Value = const std::string&;
constexpr std::array kKeys = {
    Key{"network.latency_ns", Need::kAlways,
        [](Value it, Target& to) { return store_time(it, to.network.latency); }},
    Key{"network.overhead_ns", Need::kAlways,
        [](Value it, Target& to) { return store_time(it, to.network.overhead); }},
    Key{"network.gap_ns", Need::kAlways,
        [](Value it, Target& to) { return store_time(it, to.network.gap); }},
    Key{"network.gap_per_byte_ns", Need::kAlways,
        [](Value it, Target& to) { return store_time(it, to.network.gap_per_byte); }},
    Key{"network.overhead_per_byte_ns", Need::kAlways,
        [](Value it, Target& to) { return store_time(it, to.network.overhead_per_byte); }},
    Key{"network.eager_bytes", Need::kAlways, store_eager_bytes},
    Key{"network.switch_ns", Need::kWithTopology,
        [](Value it, Target& to) { return store_time(it, to.fabric.switch_time); }},
    Key{"network.bandwidth_bytes_per_ns", Need::kWithTopology,
        [](Value it, Target& to) { return store_bandwidth(it, to.fabric.channel_per_byte); }},
    Key{"network.header_share", Need::kWithTopology, store_share},
    Key{"node.flops_per_ns", Need::kMayBe, store_flops},
    Key{"node.processor_ratio", Need::kMayBe,
        [](Value it, Target& to) { return store_millionths(it, "1.5", to.processor_ratio); }},
    Key{"node.count", Need::kMayBe, [](Value it, Target& to) { return store_count(it, to.nodes); }},
    Key{"node.cores", Need::kMayBe, [](Value it, Target& to) { return store_count(it, to.cores); }},
    Key{"node.processes", Need::kMayBe,
        [](Value it, Target& to) { return store_count(it, to.processes); }},
    Key{"node.slice_ns", Need::kWithSharedCores, store_slice},
    Key{"node.memory_latency_ns", Need::kWithSeveralRanks,
        [](Value it, Target& to) { return store_time(it, to.memory.latency); }},
    Key{"node.memory_per_byte_ns", Need::kWithSeveralRanks,
        [](Value it, Target& to) { return store_time(it, to.memory.per_byte); }},
    Key{"mapping.kind", Need::kMayBe, store_mapping},
    Key{"mapping.file", Need::kOfKind,
        [](Value it, Target& to) { return store_file(it, to.mapping_file); }},
    Key{"topology.kind", Need::kMayBe, store_kind},
    Key{"topology.nodes", Need::kOfKind,
        [](Value it, Target& to) { return store_count(it, to.topology.nodes); }},
    Key{"topology.arity", Need::kOfKind,
        [](Value it, Target& to) { return store_count(it, to.topology.arity); }},
    Key{"topology.levels", Need::kOfKind,
        [](Value it, Target& to) { return store_count(it, to.topology.levels); }},
    Key{"topology.size", Need::kOfKind, store_sizes},
    Key{"topology.groups", Need::kOfKind,
        [](Value it, Target& to) { return store_count(it, to.topology.dragonfly.groups); }},
    Key{"topology.routers", Need::kOfKind,
        [](Value it, Target& to) { return store_count(it, to.topology.dragonfly.routers); }},
    Key{"topology.nodes_per_router", Need::kOfKind,
        [](Value it, Target& to) {
          return store_count(it, to.topology.dragonfly.nodes_per_router);
        }},
    Key{"topology.global_links", Need::kOfKind,
        [](Value it, Target& to) { return store_count(it, to.topology.dragonfly.global_links); }},
    Key{"topology.file", Need::kOfKind,
        [](Value it, Target& to) { return store_file(it, to.topology.file); }},
};

constexpr std::array<const char*, 6> kSections = {"network",  "node",        "mapping",
                                                  "topology", "collectives", "storage"};

std::string section_of(const std::string& key) { return key.substr(0, key.find('.')); }

std::string unknown_key(const std::string& key) {
  std::vector<std::string> names;
  std::string of_section, sections;
  for (const Key& it : kKeys) {
    names.emplace_back(it.name);
    if (section_of(it.name) != section_of(key)) continue;
    of_section += (of_section.empty() ? "" : ", ") + names.back();
  }
  for (const std::string& it : collective_keys()) {
    names.push_back(std::string(kCollectiveKeys) + it);
  }
  for (std::string& it : storage_keys()) names.push_back(std::move(it));
  for (const char* it : kSections)
    sections += std::string(sections.empty() ? "[" : ", [") + it + "]";
  return quoted(key) + " is not a key of a target" + did_you_mean(key, names) +
         (of_section.empty() ? "; the sections are " + sections : "; the keys are " + of_section);
}

class TargetReader {
 public:
  TargetReader(const std::vector<ConfigEntry>& entries, std::string_view name)
      : entries_(entries), name_(name) {}

  Result<Target> read() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const ConfigEntry& entry = entries_[i];
      const bool may_be_list = entry.key == "storage.attached";
      if (i > 0 && entries_[i - 1].key == entry.key && !may_be_list) {
        return wrong(entry.line, entry.key + " is a list; write one value");
      }
      // A section without keys is an entry without a value.
      if (entry.value.empty() && std::ranges::find(kSections, entry.key) != kSections.end()) {
        lines_[entry.key] = entry.line;
        continue;
      }
      if (entry.key.starts_with(kCollectiveKeys)) {
        const std::string fault = store_collective_key(entry, target_.collectives);
        if (!fault.empty()) return wrong(entry.line, fault);
        continue;
      }
      if (entry.key.starts_with(kStorageKeys)) {
        const std::string fault = store_storage_key(entry, target_.storage);
        if (!fault.empty()) return wrong(entry.line, fault);
        note_line(entry);
        continue;
      }
      const auto key =
          std::ranges::find_if(kKeys, [&](const Key& it) { return entry.key == it.name; });
      if (key == kKeys.end()) return wrong(entry.line, unknown_key(entry.key));
      if (const std::string fault = key->store(entry.value, target_); !fault.empty()) {
        return wrong(entry.line, entry.key + ": " + fault);
      }
      note_line(entry);
    }
    // The kind is the first: it says which other keys are needed.
    if (has_topology()) {
      if (auto there = need("topology.kind", ", and there is a topology"); !there) {
        return unexpected(there.error());
      }
    }
    for (const Key& it : kKeys) {
      if (auto there = check(it); !there) return unexpected(there.error());
    }
    if (has("storage")) {
      const StorageFault fault = check_storage(target_.storage, lines_);
      if (!fault.what.empty()) return wrong(lines_.at(fault.key), fault.what);
    }
    if (auto shape = check_shape(); !shape) return unexpected(shape.error());
    return target_;
  }

 private:
  Unexpected wrong(int line, const std::string& what) const {
    return unexpected(Code::kInvalidArgument,
                      std::string(name_) + ":" + std::to_string(line) + ": " + what);
  }

  void note_line(const ConfigEntry& entry) {
    lines_[entry.key] = entry.line;
    int& first = lines_.emplace(section_of(entry.key), entry.line).first->second;
    first = std::min(first, entry.line);  // Entries are sorted by key.
  }

  bool has(const std::string& key) const { return lines_.contains(key); }
  bool has_topology() const { return has("topology"); }
  /// Whether place_ranks() gives the ranks nodes although nodes have one core. Then a message of a
  /// rank to itself uses the memory.
  bool has_nodes() const { return has_topology() || target_.mapping == MappingKind::kFile; }

  Result<void> need(const std::string& key, const std::string& why = "") const {
    if (has(key)) return {};
    const std::string section = section_of(key);
    const auto line = lines_.find(section);
    return wrong(line == lines_.end() ? 1 : line->second,
                 key + " is missing" + why + "; add it to the section [" + section + "]");
  }
  Result<void> must_not(const std::string& key, const std::string& why) const {
    return has(key) ? Result<void>(wrong(lines_.at(key), key + " has no effect " + why))
                    : Result<void>();
  }

  Result<void> check(const Key& key) const {
    const std::string name = key.name;
    switch (key.need) {
      case Need::kAlways:
        return need(name);
      case Need::kWithTopology:
        return has_topology()
                   ? need(name, ", and there is a topology")
                   : must_not(name, "without a topology; add the section [topology], or remove it");
      case Need::kWithSeveralRanks:
        if (target_.max_ranks() > 1) return need(name, ", and nodes have several ranks");
        return has_nodes() ? Result<void>()
                           : must_not(name,
                                      "without a topology and with one rank on each node; raise "
                                      "node.cores, or remove it");
      case Need::kWithSharedCores:
        return target_.max_ranks() > target_.cores
                   ? need(name, ", and node.processes is above node.cores")
                   : must_not(name,
                              "unless node.processes is above node.cores; raise node.processes, or "
                              "remove it");
      case Need::kOfKind:
        return name == "mapping.file" ? check_mapping() : check_topology_key(name);
      case Need::kMayBe:
        return {};
    }
    return {};
  }

  Result<void> check_mapping() const {
    if (target_.mapping == MappingKind::kFile) {
      return need("mapping.file", ", and mapping.kind is \"file\"");
    }
    if (target_.mapping == MappingKind::kCyclic && !has_topology()) {
      if (auto there = need("node.count", ", and the mapping is cyclic"); !there) return there;
    }
    return must_not("mapping.file",
                    "unless mapping.kind is \"file\"; change or remove one of them");
  }

  Result<void> check_topology_key(const std::string& key) const {
    if (!has("topology.kind")) return {};
    const Shape& shape = shape_of(target_.topology.kind);
    const auto mine = std::ranges::find(shape.keys, key);
    if (mine != shape.keys.end()) {
      return need(key, ", and topology.kind is \"" + std::string(shape.name) + "\"");
    }
    std::string keys;
    for (const std::string& it : shape.keys) keys += (keys.empty() ? "" : ", ") + it;
    return must_not(key, "for the kind " + std::string(shape.name) + "; its keys are " + keys);
  }

  Result<void> check_shape() const {
    if (!has_topology() || target_.topology.kind == TopologyKind::kGraph) return {};
    const auto topology = make_topology(target_.topology);
    if (!topology) return wrong(lines_.at("topology.kind"), topology.error().message);
    if (const std::string fault = fault_of_storage(target_, **topology); !fault.empty()) {
      const bool is_listed = !target_.storage.attached.empty();
      return wrong(lines_.at(is_listed ? "storage.attached" : "storage.nodes"), fault);
    }
    const std::string fault = fault_of_count(target_, **topology);
    return fault.empty() ? Result<void>() : Result<void>(wrong(lines_.at("node.count"), fault));
  }

  const std::vector<ConfigEntry>& entries_;
  const std::string_view name_;
  Target target_;
  std::map<std::string, int> lines_;  ///< Of keys, and of sections: their first key.
};

}  // namespace

Result<Target> read_target(const std::vector<ConfigEntry>& entries, std::string_view name) {
  return TargetReader(entries, name).read();
}

}  // namespace xylem::predict
