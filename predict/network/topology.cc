#include "predict/network/topology.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "base/saturating.h"

namespace xylem::predict {
namespace {

constexpr std::size_t kMaxDimensions = 3;

Unexpected wrong(const std::string& what) { return unexpected(Code::kInvalidArgument, what); }

Unexpected too_large() {
  return wrong("the topology has more than " + std::to_string(kMaxChannels) +
               " channels, the maximum; make it smaller");
}

std::uint64_t product(std::uint64_t a, std::uint64_t b) { return saturating_multiply(a, b); }

/// Topologies in which node p is connected by injection channel p and ejection channel N + p.
class RegularTopology : public Topology {
 public:
  explicit RegularTopology(std::uint32_t nodes) : nodes_(nodes) {}
  std::uint32_t nodes() const final { return nodes_; }

  void find_path(Node source, Node destination, std::vector<ChannelId>& path) const final {
    path.clear();
    if (source == destination) return;
    CHECK(raw(source) < nodes_ && raw(destination) < nodes_);
    add(path, raw(source));
    add_inner(raw(source), raw(destination), path);
    add(path, nodes_ + raw(destination));
  }

  ChannelEnds ends(ChannelId channel) const final {
    const std::uint32_t id = raw(channel);
    CHECK(id < channels());
    if (id < nodes_) return {Vertex{id}, of_switch(switch_of(id))};
    if (id < 2 * nodes_) return {of_switch(switch_of(id - nodes_)), Vertex{id - nodes_}};
    const auto [from, to] = inner_ends(id - 2 * nodes_);
    return {of_switch(from), of_switch(to)};
  }

 protected:
  using SwitchPair = std::pair<std::uint32_t, std::uint32_t>;

  static void add(std::vector<ChannelId>& path, std::uint32_t id) { path.push_back(ChannelId{id}); }
  void add_between(std::vector<ChannelId>& path, std::uint32_t inner) const {
    add(path, 2 * nodes_ + inner);
  }

 private:
  Vertex of_switch(std::uint32_t number) const { return Vertex{nodes_ + number}; }
  /// The switch to which a node is connected.
  virtual std::uint32_t switch_of(std::uint32_t node) const = 0;
  /// The channels between switches, in their order.
  virtual void add_inner(std::uint32_t source, std::uint32_t destination,
                         std::vector<ChannelId>& path) const = 0;
  virtual SwitchPair inner_ends(std::uint32_t inner) const = 0;

  const std::uint32_t nodes_;
};

class Crossbar final : public RegularTopology {
 public:
  using RegularTopology::RegularTopology;
  std::uint32_t channels() const override { return 2 * nodes(); }

 private:
  std::uint32_t switch_of(std::uint32_t /*node*/) const override { return 0; }
  void add_inner(std::uint32_t /*source*/, std::uint32_t /*destination*/,
                 std::vector<ChannelId>& /*path*/) const override {}
  SwitchPair inner_ends(std::uint32_t /*inner*/) const override { return {}; }
};

/// Inner channels: first all that lead up, then all that lead down. Each is numbered by its lower
/// switch and by the digit that differs at its upper switch.
class FatTree final : public RegularTopology {
 public:
  FatTree(std::uint32_t arity, std::uint32_t levels, std::uint32_t nodes)
      : RegularTopology(nodes), arity_(arity), levels_(levels), switches_(nodes / arity) {}
  std::uint32_t channels() const override { return 2 * nodes() * levels_; }

 private:
  std::uint32_t switch_of(std::uint32_t node) const override { return node / arity_; }

  /// Moves from switch `at` one level up, or to it from there: sets one digit.
  std::uint32_t with_digit(std::uint32_t at, std::uint32_t weight, std::uint32_t digit) const {
    return at - at / weight % arity_ * weight + digit * weight;
  }
  std::uint32_t up(std::uint32_t level, std::uint32_t lower, std::uint32_t digit) const {
    return (level * switches_ + lower) * arity_ + digit;
  }

  void add_inner(std::uint32_t source, std::uint32_t destination,
                 std::vector<ChannelId>& path) const override {
    const std::uint32_t goal = destination / arity_;
    std::uint32_t at = source / arity_, level = 0, weight = 1;
    // `weight` is k^level. Digits from `level` on are still those of the source.
    for (; at / weight != goal / weight; ++level, weight *= arity_) {
      const std::uint32_t digit = destination / weight % arity_;
      add_between(path, up(level, at, digit));
      at = with_digit(at, weight, digit);
    }
    while (level > 0) {
      --level;
      weight /= arity_;
      const std::uint32_t lower = with_digit(at, weight, goal / weight % arity_);
      add_between(path, (levels_ - 1) * nodes() + up(level, lower, at / weight % arity_));
      at = lower;
    }
  }

  SwitchPair inner_ends(std::uint32_t inner) const override {
    const std::uint32_t half = (levels_ - 1) * nodes();
    const bool leads_up = inner < half;
    inner %= half;
    const std::uint32_t digit = inner % arity_, lower = inner / arity_ % switches_;
    const std::uint32_t level = inner / arity_ / switches_;
    std::uint32_t weight = 1;
    for (std::uint32_t i = 0; i < level; ++i) weight *= arity_;
    const SwitchPair pair{level * switches_ + lower,
                          (level + 1) * switches_ + with_digit(lower, weight, digit)};
    return leads_up ? pair : SwitchPair{pair.second, pair.first};
  }

  const std::uint32_t arity_, levels_, switches_;
};

/// Inner channels: for each dimension first those that lead up, then those that lead down. Both are
/// numbered by the lower end of the link.
class Grid final : public RegularTopology {
 public:
  Grid(const std::vector<std::uint32_t>& sizes, bool wraps, std::uint32_t nodes)
      : RegularTopology(nodes), dimensions_(sizes.size()) {
    std::uint32_t stride = 1, first = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool is_ring = wraps && sizes[i] > 2;
      lines_[i] = {sizes[i], is_ring ? sizes[i] : sizes[i] - 1, stride, first, is_ring};
      first += 2 * half_of(lines_[i]);
      stride *= sizes[i];
    }
    inner_ = first;
  }
  std::uint32_t channels() const override { return 2 * nodes() + inner_; }

 private:
  struct Lines {  // All lines of one dimension.
    std::uint32_t size, links, stride, first;
    bool is_ring;
  };

  std::uint32_t half_of(const Lines& of) const { return nodes() / of.size * of.links; }
  std::uint32_t switch_of(std::uint32_t node) const override { return node; }

  /// The channel of the link whose lower end is at `coordinate` in the line of `node`.
  std::uint32_t channel(const Lines& of, std::uint32_t node, std::uint32_t coordinate,
                        bool leads_up) const {
    const std::uint32_t line = node / (of.stride * of.size);
    return of.first + (leads_up ? 0 : half_of(of)) + (line * of.links + coordinate) * of.stride +
           node % of.stride;
  }

  void add_inner(std::uint32_t source, std::uint32_t destination,
                 std::vector<ChannelId>& path) const override {
    std::uint32_t at = source;
    for (std::size_t i = 0; i < dimensions_; ++i) {
      const Lines& line = lines_[i];
      std::uint32_t here = at / line.stride % line.size;
      const std::uint32_t goal = destination / line.stride % line.size;
      at = at - here * line.stride + goal * line.stride;
      const std::uint32_t distance_up = goal >= here ? goal - here : goal + line.size - here;
      const std::uint32_t distance_down = line.size - distance_up;
      bool goes_up = goal > here;
      if (line.is_ring) {
        goes_up = distance_up == distance_down ? here % 2 == 0 : distance_up < distance_down;
      }
      while (here != goal) {
        const std::uint32_t below = here == 0 ? line.size - 1 : here - 1;
        const std::uint32_t above = here + 1 == line.size ? 0 : here + 1;
        add_between(path, channel(line, at, goes_up ? here : below, goes_up));
        here = goes_up ? above : below;
      }
    }
  }

  SwitchPair inner_ends(std::uint32_t inner) const override {
    std::size_t dimension = dimensions_ - 1;
    while (inner < lines_[dimension].first) --dimension;
    const Lines& of = lines_[dimension];
    inner -= of.first;
    const bool leads_up = inner < half_of(of);
    if (!leads_up) inner -= half_of(of);
    const std::uint32_t lower = inner / of.stride % of.links;
    const std::uint32_t zero =
        inner / of.stride / of.links * of.size * of.stride + inner % of.stride;
    const SwitchPair pair{zero + lower * of.stride, zero + (lower + 1) % of.size * of.stride};
    return leads_up ? pair : SwitchPair{pair.second, pair.first};
  }

  const std::size_t dimensions_;
  std::array<Lines, kMaxDimensions> lines_{};
  std::uint32_t inner_ = 0;
};

/// Inner channels: first those between the routers of a group, then those between groups.
class Dragonfly final : public RegularTopology {
 public:
  Dragonfly(const DragonflyShape& shape, std::uint32_t nodes)
      : RegularTopology(nodes),
        shape_(shape),
        locals_(shape.groups * shape.routers * (shape.routers - 1)) {}
  std::uint32_t channels() const override {
    return 2 * nodes() + locals_ + shape_.groups * (shape_.groups - 1);
  }

 private:
  std::uint32_t switch_of(std::uint32_t node) const override {
    return node / shape_.nodes_per_router;
  }
  /// The port of group `from` with the link to group `to`.
  static std::uint32_t port(std::uint32_t from, std::uint32_t to) {
    return to < from ? to : to - 1;
  }
  /// The router with this port.
  std::uint32_t router(std::uint32_t group, std::uint32_t port) const {
    return group * shape_.routers + port / shape_.global_links;
  }

  void add_local(std::uint32_t from, std::uint32_t to, std::vector<ChannelId>& path) const {
    if (from == to) return;
    add_between(path,
                from * (shape_.routers - 1) + port(from % shape_.routers, to % shape_.routers));
  }

  void add_inner(std::uint32_t source, std::uint32_t destination,
                 std::vector<ChannelId>& path) const override {
    const std::uint32_t from = switch_of(source), to = switch_of(destination);
    const std::uint32_t here = from / shape_.routers, there = to / shape_.routers;
    if (here == there) {
      add_local(from, to, path);
      return;
    }
    add_local(from, router(here, port(here, there)), path);
    add_between(path, locals_ + here * (shape_.groups - 1) + port(here, there));
    add_local(router(there, port(there, here)), to, path);
  }

  SwitchPair inner_ends(std::uint32_t inner) const override {
    if (inner < locals_) {
      const std::uint32_t from = inner / (shape_.routers - 1), port = inner % (shape_.routers - 1);
      const std::uint32_t zero = from - from % shape_.routers;
      return {from, zero + (port < from % shape_.routers ? port : port + 1)};
    }
    const std::uint32_t here = (inner - locals_) / (shape_.groups - 1);
    const std::uint32_t leaves_by = (inner - locals_) % (shape_.groups - 1);
    const std::uint32_t there = leaves_by < here ? leaves_by : leaves_by + 1;
    return {router(here, leaves_by), router(there, port(there, here))};
  }

  const DragonflyShape shape_;
  const std::uint32_t locals_;
};

}  // namespace

std::string Topology::name(Vertex vertex) const {
  return raw(vertex) < nodes() ? "node " + std::to_string(raw(vertex))
                               : "switch " + std::to_string(raw(vertex) - nodes());
}

Result<std::unique_ptr<Topology>> make_crossbar(std::uint32_t nodes) {
  if (nodes == 0) return wrong("a crossbar has at least 1 node");
  if (nodes > kMaxChannels / 2) return too_large();
  return std::unique_ptr<Topology>(std::make_unique<Crossbar>(nodes));
}

Result<std::unique_ptr<Topology>> make_fat_tree(std::uint32_t arity, std::uint32_t levels) {
  if (arity < 2) return wrong("a fat tree has an arity of at least 2");
  if (levels == 0) return wrong("a fat tree has at least 1 level");
  std::uint64_t nodes = 1;
  for (std::uint32_t i = 0; i < levels && nodes <= kMaxChannels; ++i) nodes = product(nodes, arity);
  if (product(2 * std::uint64_t{levels}, nodes) > kMaxChannels) return too_large();
  return std::unique_ptr<Topology>(
      std::make_unique<FatTree>(arity, levels, static_cast<std::uint32_t>(nodes)));
}

Result<std::unique_ptr<Topology>> make_grid(const std::vector<std::uint32_t>& sizes, bool wraps) {
  if (sizes.empty() || sizes.size() > kMaxDimensions) {
    return wrong("a mesh or torus has 1, 2 or 3 dimensions, not " + std::to_string(sizes.size()));
  }
  if (std::ranges::count(sizes, 0u) > 0) return wrong("no size of a mesh or torus is 0");
  std::uint64_t nodes = 1;
  for (const std::uint32_t it : sizes) nodes = product(nodes, it);
  if (product(nodes, 2 + 2 * sizes.size()) > kMaxChannels) return too_large();
  return std::unique_ptr<Topology>(
      std::make_unique<Grid>(sizes, wraps, static_cast<std::uint32_t>(nodes)));
}

Result<std::unique_ptr<Topology>> make_dragonfly(const DragonflyShape& shape) {
  const std::uint64_t groups = shape.groups, routers = shape.routers;
  if (groups == 0 || routers == 0 || shape.nodes_per_router == 0) {
    return wrong("a dragonfly has at least 1 group, 1 router per group and 1 node per router");
  }
  const std::uint64_t links = product(routers, shape.global_links);
  if (groups - 1 > links) {
    return wrong("a dragonfly of " + std::to_string(groups) + " groups needs " +
                 std::to_string(groups - 1) + " global links per group, but " +
                 std::to_string(routers) + " routers with " + std::to_string(shape.global_links) +
                 " each have " + std::to_string(links));
  }
  const std::uint64_t nodes = product(product(groups, routers), shape.nodes_per_router);
  std::uint64_t channels = saturating_add(product(2, nodes), product(groups, groups - 1));
  channels = saturating_add(channels, product(product(groups, routers), routers - 1));
  if (channels > kMaxChannels) return too_large();
  return std::unique_ptr<Topology>(
      std::make_unique<Dragonfly>(shape, static_cast<std::uint32_t>(nodes)));
}

}  // namespace xylem::predict
