#include "tests/model/multicast.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "backend/leaf/leaf_node.h"
#include "base/check.h"
#include "commproc/comm_process.h"
#include "frontend/tree_node.h"
#include "tests/model/leaf.h"
#include "tests/model/simulation.h"
#include "tree/shape.h"

namespace xylem::model {
namespace {

constexpr HostNumber kRootHost{0};
constexpr std::uint16_t kRootPort = 1;
constexpr wire::FieldNumber kNumber = 1, kFilling = 2, kItems = 3;
constexpr std::size_t kLarge = 200'000;  // Of these a node keeps five.
constexpr Nanos kPatience = 60 * kSecond;
constexpr Nanos kLook = 50 * kMillisecond;

using Items = std::vector<std::uint64_t>;

// What was sent, and for whom, as the sender knows it.
struct Sent {
  Items items;
  std::vector<std::uint64_t> to;  // Leaf ids, ascending.
};

// What of it a leaf is to see: nothing when it is not for it. The items are dealt like cards that
// stay in a heap: to each as many as are its turn.
std::optional<Items> expected_of(const Sent& sent, bool is_scattered, LeafId leaf) {
  const auto self = std::find(sent.to.begin(), sent.to.end(), raw(leaf));
  if (self == sent.to.end()) return std::nullopt;
  if (!is_scattered) return sent.items;
  std::vector<std::size_t> turns(sent.to.size());
  for (std::size_t i = 0; i < sent.items.size(); ++i) ++turns[i % turns.size()];
  auto next = sent.items.begin();
  Items mine;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    for (std::size_t turn = 0; turn < turns[i]; ++turn, ++next) {
      if (sent.to[i] == raw(leaf)) mine.push_back(*next);
    }
  }
  return mine;
}

// What the leaf's program has seen, and the processes that it starts.
class ToolLeaf final : public backend::LeafOwner, public backend::ProcessStarter {
 public:
  using Start = std::function<void(NodeId node, std::uint32_t level)>;
  ToolLeaf(HostNumber its_host, Start start)
      : host(its_host), region_(backend::Journal::kSmallest), start_(std::move(start)) {
    backend::JournalOptions options;
    options.give_back_bytes = backend::Journal::kKeepAll;
    auto opened = backend::Journal::open(region_.bytes(), options);
    CHECK(opened.has_value());
    journal.emplace(*std::move(opened));
  }

  void on_joined(LeafId joined) override { leaf = joined; }
  void on_streams(std::vector<backend::LeafStreamState>) override {}
  bool on_multicast(StreamId, std::uint64_t number, wire::Fields fields) override {
    const auto* told = fields.find_as<std::uint64_t>(kNumber);
    const auto* items = fields.find_as<Items>(kItems);
    is_in_order &= told != nullptr && *told == number && (seen.empty() || number > seen.back());
    seen.push_back(number);
    parts[number] = items == nullptr ? Items() : *items;
    return true;
  }
  void on_room() override {}
  void on_finish() override {}
  void on_closed(const std::string&) override {}

  Result<backend::StartedProcess> start(NodeId node, std::uint32_t level) override {
    start_(node, level);
    return backend::StartedProcess{};
  }
  std::string collect(int) override { return {}; }

  HostNumber host{};
  ProcessId process = kNoProcess;
  std::optional<backend::Journal> journal;
  std::optional<LeafId> leaf;
  std::vector<std::uint64_t> seen;
  std::map<std::uint64_t, Items> parts;  // What of each number's items it has seen.
  bool is_in_order = true;

 private:
  Region region_;
  Start start_;
};

class MulticastChaos {
 public:
  explicit MulticastChaos(const MulticastOptions& options)
      : options_(options), world_(options.seed) {
    is_large_ = world_.random().one_in(2);
    is_listed_ = world_.random().one_in(2);
    is_scattered_ = world_.random().one_in(2);
    world_.may_send = [this](ProcessId from, const wire::Message& message) {
      return may_send(from, message);
    };
    start_root();
    const std::uint64_t leaves = 1 + world_.random()(world_.random().one_in(3) ? 16 : 6);
    for (std::uint64_t i = 0; i < leaves; ++i) start_leaf(static_cast<std::uint32_t>(i + 1));
  }

  MulticastOutcome run() {
    Random& random = world_.random();
    world_.run_until(world_.now() + kPatience, [this] { return is_ready(); });
    if (!is_ready()) return judge("the stream did not open");
    const Nanos end = world_.now() + random.between(5 * kSecond, 40 * kSecond);
    const std::uint64_t faults = 3 + random(20);
    for (std::uint64_t i = 0; i < faults; ++i) {
      world_.at(random.between(world_.now(), end), [this] { inflict(); });
    }
    end_ = end;
    send_next();
    look();
    world_.run_until(end);
    world_.heal_everything();
    is_healed_ = true;
    // One more, now that everybody can be reached: it shows what was missed before.
    world_.run_until(world_.now() + kPatience);
    send();
    world_.run_until(world_.now() + kPatience);
    return judge({});
  }

 private:
  frontend::TreeNode& root() { return static_cast<frontend::TreeNode&>(world_.node(root_)); }

  void start_root() {
    frontend::TreeNodeOptions options;
    Random& random = world_.random();
    options.root.shape.kind = tree::Shape::Kind::kKary;
    options.root.shape.fanout = 2 + static_cast<std::uint32_t>(random(2));
    options.gathering.settle = kSecond;
    root_ = world_.start(kRootHost, std::make_unique<frontend::TreeNode>(options), kRootPort);
  }

  void start_leaf(std::uint32_t number) {
    const HostNumber host{number};
    leaves_.push_back(
        std::make_unique<ToolLeaf>(host, [this, host](NodeId node, std::uint32_t level) {
          const StartedCommProcess what{host, node, level};
          world_.at(world_.now() + world_.random().between(kMillisecond, 300 * kMillisecond),
                    [this, what] { start_comm_process(what); });
        }));
    ToolLeaf& leaf = *leaves_.back();
    backend::LeafNodeOptions options;
    options.front_end = {Simulation::address(kRootHost, kRootPort)};
    options.host.name = "h" + std::to_string(number);
    options.host.host_key = options.host.name;
    options.orphan_limit = 1000 * kSecond;
    leaf.process = world_.start(
        host, std::make_unique<backend::LeafNode>(options, *leaf.journal, leaf, leaf), 0);
  }

  struct StartedCommProcess {
    HostNumber host{};
    NodeId node{};
    std::uint32_t level = 0;
  };
  void start_comm_process(const StartedCommProcess& what) {
    commproc::CommProcessOptions options;
    options.node = what.node;
    options.level = what.level;
    options.front_end = {Simulation::address(kRootHost, kRootPort)};
    const ProcessId process =
        world_.start(what.host, std::make_unique<commproc::CommProcess>(options), next_port_++);
    comm_processes_[process] = what;
  }

  bool is_ready() {
    const bool all_there = std::all_of(leaves_.begin(), leaves_.end(),
                                       [](const auto& leaf) { return leaf->leaf.has_value(); });
    if (!all_there || !root().all_in_place()) return false;
    if (!stream_) {
      wire::StreamSpec spec;
      spec.name = "down";
      if (is_listed_) spec.leaves = some_leaves();
      for (const std::uint64_t leaf : is_listed_ ? numbers_of(spec.leaves) : all_leaves()) {
        members_.insert(leaf);
      }
      if (is_scattered_) spec.narrowing = "scatter";
      auto opened = root().open(std::move(spec));
      CHECK(opened.has_value());
      stream_ = *opened;
    }
    const auto open = root().is_open(*stream_);
    return open && *open;
  }

  // ---- what goes down ----

  std::vector<std::uint64_t> all_leaves() const {
    std::vector<std::uint64_t> all;
    for (const auto& leaf : leaves_) all.push_back(raw(*leaf->leaf));
    std::sort(all.begin(), all.end());
    return all;
  }

  static std::vector<std::uint64_t> numbers_of(const IntervalSet& set) {
    std::vector<std::uint64_t> numbers;
    for (const auto& run : set.intervals()) {
      for (auto number = run.first; number < run.end; ++number) numbers.push_back(number);
    }
    return numbers;
  }

  // At least one of them.
  IntervalSet some_of(const std::vector<std::uint64_t>& leaves) {
    IntervalSet some = IntervalSet::of(leaves[world_.random()(leaves.size())]);
    for (const std::uint64_t leaf : leaves) {
      if (world_.random().one_in(2)) some.insert(leaf);
    }
    return some;
  }
  IntervalSet some_leaves() { return some_of(all_leaves()); }

  // For whom a multicast is that names nobody: where it is cut, those who are not lost.
  std::vector<std::uint64_t> everybody() {
    std::vector<std::uint64_t> all;
    for (const std::uint64_t leaf : members_) {
      const auto* node = root().overlay().find(LeafId{static_cast<std::uint32_t>(leaf)});
      const bool is_lost = node->state == frontend::NodeState::kLost;
      if (!is_scattered_ || !is_lost) all.push_back(leaf);
    }
    return all;
  }

  void send() {
    world_.inside(root_, [this](Nanos) {
      Random& random = world_.random();
      const std::uint64_t number = sent_.size() + 1;
      Sent sent;
      for (std::uint64_t left = random(40); left > 0; --left) sent.items.push_back(random(1000));
      const std::vector<std::uint64_t> members(members_.begin(), members_.end());
      const IntervalSet to = random.one_in(3) ? some_of(members) : IntervalSet();
      sent.to = to.empty() ? everybody() : numbers_of(to);
      wire::Fields fields;
      fields.set(kNumber, number).set(kItems, sent.items);
      if (is_large_) fields.set(kFilling, std::string(kLarge, 'x'));
      const auto whole = root().next_multicast(*stream_, fields, to);
      CHECK(whole.has_value() && whole->number == number);
      sent_.push_back(std::move(sent));
      root().multicast(*whole);
    });
  }

  void send_next() {
    if (world_.now() >= end_) return;
    send();
    world_.at(world_.now() + world_.random().between(10 * kMillisecond, 300 * kMillisecond),
              [this] { send_next(); });
  }

  // The front end holds a bounded number of events.
  void look() {
    world_.inside(root_, [this](Nanos) {
      while (auto event = root().take_event()) {
        std::uint64_t first = 0, last = 0;
        const bool is_gap = event->kind == frontend::TreeEvent::Kind::kGap;
        if (!is_gap) continue;
        CHECK(std::sscanf(event->text.c_str(), "missed multicasts %" SCNu64 " to %" SCNu64, &first,
                          &last) == 2);
        missed_[event->leaf].insert(first, last + 1);
      }
    });
    world_.at(world_.now() + kLook, [this] { look(); });
  }

  bool may_send(ProcessId from, const wire::Message& message) {
    if (options_.broken == MulticastBreak::kNoGapReport) {
      const bool is_leaf = from != root_ && !comm_processes_.contains(from);
      return !is_leaf || !std::holds_alternative<wire::MulticastGap>(message);
    }
    const auto* down = std::get_if<wire::Multicast>(&message);
    if (options_.broken != MulticastBreak::kNoReplay || down == nullptr) return true;
    std::uint64_t& newest = newest_[from];
    newest = std::max(newest, down->number);
    return down->number == newest;
  }

  // ---- faults ----

  void inflict() {
    if (is_healed_) return;
    Random& random = world_.random();
    const std::uint64_t which = random(6);
    if (which < 2) return kill_comm_process();
    ++faults_;
    const Nanos duration = random.one_in(3) ? random.between(3 * kSecond, 12 * kSecond)
                                            : random.between(50 * kMillisecond, 3 * kSecond);
    if (which == 2) {
      world_.break_link(random.one_in(2));
    } else if (which == 3) {
      const HostNumber one{static_cast<std::uint32_t>(random(leaves_.size() + 1))};
      const HostNumber other{static_cast<std::uint32_t>(random(leaves_.size() + 1))};
      world_.cut(one, other);
      if (random.one_in(2)) world_.cut(other, one);
      world_.at(world_.now() + duration, [this, one, other] {
        world_.heal(one, other);
        world_.heal(other, one);
      });
    } else if (which == 4) {
      ProcessId victim = leaves_[random(leaves_.size())]->process;
      if (!comm_processes_.empty() && random.one_in(2)) victim = random_comm_process()->first;
      world_.freeze(victim);
      world_.at(world_.now() + duration, [this, victim] { world_.thaw(victim); });
    } else {
      world_.set_slowness(random.between(kMillisecond, 400 * kMillisecond));
      world_.at(world_.now() + duration, [this] { world_.set_slowness(0); });
    }
  }

  std::map<ProcessId, StartedCommProcess>::iterator random_comm_process() {
    return std::next(comm_processes_.begin(),
                     static_cast<std::ptrdiff_t>(world_.random()(comm_processes_.size())));
  }

  void kill_comm_process() {
    if (comm_processes_.empty()) return;
    ++faults_;
    const auto [process, what] = *random_comm_process();
    comm_processes_.erase(process);
    world_.kill(process);
    if (world_.random().one_in(2)) return;
    const StartedCommProcess again = what;
    world_.at(world_.now() + world_.random().between(10 * kMillisecond, 5 * kSecond),
              [this, again] { start_comm_process(again); });
  }

  // ---- what came of it ----

  MulticastOutcome judge(std::string fault) {
    MulticastOutcome outcome;
    outcome.seed = options_.seed;
    outcome.faults = faults_;
    outcome.fault = std::move(fault);
    for (const auto& leaf : leaves_) judge(*leaf, outcome);
    if (!is_large_ && outcome.missed != 0 && outcome.fault.empty()) {
      outcome.fault = std::to_string(outcome.missed) + " were missed that nodes must have kept";
    }
    outcome.digest = world_.digest();
    return outcome;
  }

  void judge(const ToolLeaf& leaf, MulticastOutcome& outcome) {
    const LeafId id = leaf.leaf.value_or(wire::kNoLeaf);
    const std::set<std::uint64_t> seen(leaf.seen.begin(), leaf.seen.end());
    const auto blame = [&](std::uint64_t number, const std::string& what) {
      if (!outcome.fault.empty()) return;
      outcome.fault = "leaf " + std::to_string(raw(id)) + " " + what + " number " +
                      std::to_string(number) + " of " + std::to_string(sent_.size());
    };
    outcome.twice += leaf.seen.size() - seen.size() + (leaf.is_in_order ? 0 : 1);
    for (std::uint64_t number = 1; number <= sent_.size(); ++number) {
      const auto expected = expected_of(sent_[number - 1], is_scattered_, id);
      const bool was_seen = seen.contains(number), was_missed = missed_[id].contains(number);
      outcome.missed += was_missed ? 1 : 0;
      outcome.twice += was_seen && was_missed ? 1 : 0;
      outcome.sent += expected ? 1 : 0;
      if (was_seen && (!expected || leaf.parts.at(number) != *expected)) {
        ++outcome.wrong;
        blame(number, expected ? "has seen another part of" : "has seen what was not for it,");
      }
      if (was_seen || was_missed || !expected) continue;
      ++outcome.lost;
      blame(number, "has not seen, and nobody was told,");
    }
  }

  MulticastOptions options_;
  std::vector<std::unique_ptr<ToolLeaf>>
      leaves_;  // Before the world, whose nodes borrow from them.
  Simulation world_;
  ProcessId root_ = kNoProcess;
  std::map<ProcessId, StartedCommProcess> comm_processes_;
  std::uint16_t next_port_ = 2;
  std::optional<StreamId> stream_;
  std::map<ProcessId, std::uint64_t> newest_;
  std::map<LeafId, IntervalSet> missed_;
  std::vector<Sent> sent_;
  std::set<std::uint64_t> members_;  // Leaf ids of the stream.
  std::uint64_t faults_ = 0;
  Nanos end_ = 0;
  bool is_large_ = false;
  bool is_listed_ = false;
  bool is_scattered_ = false;
  bool is_healed_ = false;
};

}  // namespace

MulticastOutcome run_multicast(const MulticastOptions& options) {
  return MulticastChaos(options).run();
}

std::string to_line(const MulticastOutcome& outcome) {
  char line[256];
  std::snprintf(line, sizeof line,
                "chaos: multicast seed=%" PRIu64 " faults=%" PRIu64 " sent=%" PRIu64
                " missed=%" PRIu64 " lost=%" PRIu64 " twice=%" PRIu64 " wrong=%" PRIu64
                " digest=%016" PRIx64,
                outcome.seed, outcome.faults, outcome.sent, outcome.missed, outcome.lost,
                outcome.twice, outcome.wrong, outcome.digest);
  return outcome.fault.empty() ? line : std::string(line) + "; " + outcome.fault;
}

}  // namespace xylem::model
