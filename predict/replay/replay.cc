#include "predict/replay/replay.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/saturating.h"
#include "predict/replay/event_queue_internal.h"
#include "predict/replay/matching_internal.h"
#include "predict/replay/resources_internal.h"
#include "predict/replay/waiting_internal.h"

namespace xylem::predict {
namespace {

/// Maximum number of clocks and waiting lines. They take 8 and 16 bytes.
constexpr std::uint64_t kMaxResources = std::uint64_t{1} << 26;

/// Waiting lines of a rank for each combination of CPU and NIC: for sends, for messages, for all
/// that needs only a processor, and for messages from the same node.
constexpr std::size_t kLines = 4;
/// Loads operations so far ahead: programs do not fit into a cache, and run mostly in their order.
constexpr std::size_t kAhead = 8;
/// Maximum number of operations that the error names.
constexpr std::size_t kMaxNamed = 5;

/// Where ranks are, and how their messages travel.
struct Routes {
  const FabricCosts& costs;
  std::span<const Node> node_of_rank;
  Network& network;
};

/// The state of a replay. One call of run().
class Replay {
 public:
  /// `routes` is null if each rank has a node of its own, and every message takes L: the usual
  /// case, and the fastest. `storage` may be null if the program accesses no files.
  Replay(const Program& program, const LogGpsCosts& costs, const Routes* routes, Storage* storage,
         const Resources& resources)
      : program_(program),
        costs_(costs),
        routes_(routes),
        storage_(storage),
        resources_(resources),
        more_clocks_(program.ranks.size() * (resources.clocks() - kOwnClocks)),
        lines_(program.ranks.size() * resources.pairs() * kLines),
        matching_(resources.wild()),
        has_several_cpus_(resources.cpus() > 1) {
    unmet_.resize(count_operations(program));
    if (has_several_cpus_) ready_.resize(unmet_.size());
    ranks_.reserve(program.ranks.size());
    std::uint32_t* unmet = unmet_.data();
    for (const RankProgram& rank : program.ranks) {
      RankState& state = ranks_.emplace_back();
      state.operations = rank.operations().data();
      state.dependents = rank.dependents().data();
      state.unmet = unmet;
      state.size = static_cast<std::uint32_t>(rank.operations().size());
      state.dependent_count = static_cast<std::uint32_t>(rank.dependents().size());
      count_unmet(state);
      unmet += state.size;
    }
  }

  Result<Prediction> run();

 private:
  static constexpr std::size_t kOwnClocks = 3;
  /// What most events need of a rank, in one line of the processor's cache.
  struct alignas(64) RankState {
    const Operation* operations = nullptr;
    const Dependent* dependents = nullptr;
    std::uint32_t* unmet = nullptr;  ///< For each operation.
    std::uint32_t size = 0;
    std::uint32_t dependent_count = 0;
    std::array<Ticks, kOwnClocks> clocks{};  ///< The first ones. The others are in more_clocks_.
    std::uint64_t compute_ns = 0;
  };
  static_assert(sizeof(RankState) == 64);
  /// An operation, for sorting and printing.
  using RankAndOperation = std::pair<std::uint32_t, std::uint32_t>;

  static void count_unmet(const RankState& rank);
  Ticks& clock(std::size_t rank, std::size_t number) {
    if (number < kOwnClocks) return ranks_[rank].clocks[number];
    return more_clocks_[rank * (resources_.clocks() - kOwnClocks) + number - kOwnClocks];
  }
  const Operation& operation_of(const Event& event) const {
    return ranks_[event.rank].operations[event.operation];
  }
  /// Events that wait for the same clocks stand in the same line. Receives never wait.
  std::size_t line_of(EventKind kind, std::uint32_t rank, const Operation& of) const {
    static constexpr std::array<std::uint8_t, 10> kLineOf = {0, 1, 2, 2, 2, 0, 0, 0, 3, 1};
    return (rank * resources_.pairs() + resources_.pair(of)) * kLines +
           kLineOf[static_cast<std::size_t>(kind)];
  }
  /// The rank at which an event happens.
  static std::uint32_t rank_of(const Event& event, const Operation& of) {
    return is_message(event.kind) ? of.peer : event.rank;
  }
  bool is_inside_node(std::uint32_t a, std::uint32_t b) const {
    return routes_ != nullptr && routes_->node_of_rank[a] == routes_->node_of_rank[b];
  }

  Ticks free_at(EventKind kind, std::uint32_t rank, const Operation& of);
  bool take_turn(Event& event);
  bool answer(Event& call);
  void call_first(std::size_t line, Ticks at);

  void handle(const Event& event);
  void compute(const Event& event, const Operation& of);
  void send(const Event& event, const Operation& of);
  void receive(const Event& event, const Operation& of);
  void take_message(const Event& event, const Operation& of);
  void deliver(const Event& event, const Operation& of, Ticks end);
  void send_inside(const Event& event, const Operation& of);
  void take_inside(const Event& event, const Operation& of);
  void enter_network(const Event& event, const Operation& of);
  void follow(const Network::Step& step, std::uint64_t order, std::uint32_t operation,
              std::uint32_t rank);
  void go_on(const Event& event);
  void access_file(const Event& event, const Operation& of);
  void follow_storage(const Event& event);

  void start(std::uint32_t rank, std::uint32_t operation, Ticks now);
  void finish(std::uint32_t rank, std::uint32_t operation, Ticks at);
  void finish_rendezvous(std::uint32_t rank, std::uint32_t operation, Ticks now);
  void release(std::uint32_t rank, std::uint32_t operation, Ticks at);
  void push_first();
  void push_free(Ticks now);
  void push_free_of(std::uint32_t rank, std::vector<std::uint32_t>& free, Ticks now);

  Result<Prediction> sum_up();
  Unexpected too_long() const;
  Unexpected deadlock() const;
  std::vector<RankAndOperation> waiting(bool unfinished) const;
  std::string describe(const RankAndOperation& it) const;

  const Program& program_;
  const LogGpsCosts costs_;
  const Routes* const routes_;
  Storage* const storage_;
  const Resources& resources_;
  std::vector<RankState> ranks_;
  std::vector<Ticks> more_clocks_;
  std::vector<std::uint32_t> unmet_;  ///< For each operation: how many it still waits for.
  std::vector<Ticks> ready_;  ///< For each operation, with several CPUs: its earliest start.
  EventQueue queue_;
  WaitingLines lines_;
  Matching matching_;
  const bool has_several_cpus_;
  std::uint64_t created_ = 0;  ///< Events, without calls.
  std::uint64_t finished_ = 0;
  std::vector<std::uint32_t> on_the_way_;  ///< For each number of the network: the operation.
  Prediction prediction_;
  // The operations that the current event has freed: of `event_rank_`, and of the sender of a
  // rendezvous if that is another rank.
  std::vector<std::uint32_t> free_, free_of_sender_;
  std::uint32_t event_rank_ = 0, sender_rank_ = 0;
};

void Replay::count_unmet(const RankState& rank) {
  for (std::uint32_t i = 0; i < rank.size; ++i) {
    rank.unmet[i] = rank.operations[i].follows ? 1 : 0;
  }
  for (std::uint32_t i = 0; i < rank.dependent_count; ++i) {
    ++rank.unmet[rank.dependents[i].operation()];
  }
}

/// When all that an event occupies at `rank` is free.
Ticks Replay::free_at(EventKind kind, std::uint32_t rank, const Operation& of) {
  const Ticks cpu = clock(rank, resources_.cpu(of));
  switch (kind) {
    case EventKind::kSend:
      return std::max(cpu, clock(rank, resources_.send_nic(of)));
    case EventKind::kMessage:
      return std::max(cpu, clock(rank, resources_.receive_nic(of)));
    default:
      return cpu;
  }
}

/// Whether the event can happen now. If not, it waits in its line. A call becomes its event.
///
/// Looking only at the first of a line gives the same result as looking at all that wait: they wait
/// for the same clocks, and clocks never go back. So the one that was created first is the next.
bool Replay::take_turn(Event& event) {
  if (event.kind == EventKind::kReceive) return true;
  if (event.is_call) return answer(event);
  const Operation& of = operation_of(event);
  const std::uint32_t rank = rank_of(event, of);
  const Ticks free = free_at(event.kind, rank, of);
  if (free <= event.time) return true;
  const std::size_t line = line_of(event.kind, rank, of);
  lines_.add(line, event);
  call_first(line, free);
  return false;
}

bool Replay::answer(Event& call) {
  const std::uint32_t entry = call.operation;
  lines_.set_called(entry, false);
  Event event = lines_.event(entry);
  const Operation& of = operation_of(event);
  const std::uint32_t rank = rank_of(event, of);
  const std::size_t line = line_of(event.kind, rank, of);
  if (lines_.first(line) != entry) return false;  // One that was created earlier has come.
  const Ticks free = free_at(event.kind, rank, of);
  if (free > call.time) {
    call_first(line, free);
    return false;
  }
  lines_.remove_first(line);
  event.time = call.time;
  event.is_call = true;
  call = event;
  return true;
}

/// Makes sure that the queue has a call for the first of a line. A call may come too early.
void Replay::call_first(std::size_t line, Ticks at) {
  const std::uint32_t entry = lines_.first(line);
  if (entry == WaitingLines::kNone || lines_.is_called(entry)) return;
  lines_.set_called(entry, true);
  Event call = lines_.event(entry);
  call.time = at;
  call.operation = entry;
  call.is_call = true;
  queue_.push(call);
}

void Replay::handle(const Event& event) {
  const Operation& of = operation_of(event);
  event_rank_ = rank_of(event, of);
  ++prediction_.events;
  switch (event.kind) {
    case EventKind::kSend:
      send(event, of);
      break;
    case EventKind::kReceive:
      receive(event, of);
      break;
    case EventKind::kCompute:
      compute(event, of);
      break;
    case EventKind::kMessage:
      take_message(event, of);
      break;
    case EventKind::kFile:
      access_file(event, of);
      break;
    default:
      event.kind == EventKind::kInsideSend ? send_inside(event, of) : take_inside(event, of);
  }
  if (event.is_call) {
    call_first(line_of(event.kind, event_rank_, of), free_at(event.kind, event_rank_, of));
  }
  push_free(event.time);
}

void Replay::compute(const Event& event, const Operation& of) {
  const Ticks end = event.time + costs_.from_ns(of.amount);
  clock(event.rank, resources_.cpu(of)) = end;
  std::uint64_t& compute_ns = ranks_[event.rank].compute_ns;
  compute_ns = saturating_add(compute_ns, of.amount);
  start(event.rank, event.operation, event.time);
  finish(event.rank, event.operation, end);
}

void Replay::send(const Event& event, const Operation& of) {
  const Ticks end = event.time + costs_.send_cpu(of.amount);
  clock(event.rank, resources_.cpu(of)) = end;
  clock(event.rank, resources_.send_nic(of)) = event.time + costs_.nic(of.amount);
  if (routes_ == nullptr) {
    queue_.push({event.time + costs_.flight(), created_++, event.operation, event.rank,
                 EventKind::kMessage});
  } else {
    enter_network(event, of);
  }
  ++prediction_.messages;
  start(event.rank, event.operation, event.time);
  if (costs_.is_eager(of.amount)) finish(event.rank, event.operation, end);
}

void Replay::send_inside(const Event& event, const Operation& of) {
  const Ticks end = event.time + costs_.send_cpu(of.amount);
  clock(event.rank, resources_.cpu(of)) = end;
  queue_.push({event.time + routes_->costs.memory().flight(), created_++, event.operation,
               event.rank, EventKind::kInsideMessage});
  ++prediction_.messages;
  start(event.rank, event.operation, event.time);
  if (costs_.is_eager(of.amount)) finish(event.rank, event.operation, end);
}

void Replay::enter_network(const Event& event, const Operation& of) {
  const auto& nodes = routes_->node_of_rank;
  follow(routes_->network.send(nodes[event.rank], nodes[of.peer], of.amount,
                               event.time + costs_.overhead()),
         created_++, event.operation, event.rank);
}

/// Creates the event at the end of a step. A message keeps its order: at the same time, the one
/// that was sent first comes first.
void Replay::follow(const Network::Step& step, std::uint64_t order, std::uint32_t operation,
                    std::uint32_t rank) {
  if (step.has_arrived) {
    queue_.push({step.time, order, operation, rank, EventKind::kMessage});
    return;
  }
  if (step.message >= on_the_way_.size()) on_the_way_.resize(step.message + 1);
  on_the_way_[step.message] = operation;
  queue_.push({step.time, order, step.message, rank, EventKind::kOnTheWay});
}

void Replay::go_on(const Event& event) {
  if (event.kind == EventKind::kStorage) {
    storage_->go_on(event.operation, event.time);
    follow_storage(event);
    return;
  }
  const std::uint32_t operation = on_the_way_[event.operation];
  follow(routes_->network.go_on(event.operation, event.time), event.order, operation, event.rank);
}

void Replay::access_file(const Event& event, const Operation& of) {
  const FileAccess& access = program_.ranks[event.rank].accesses()[of.peer];
  const Node node = routes_ == nullptr ? Node{event.rank} : routes_->node_of_rank[event.rank];
  start(event.rank, event.operation, event.time);
  storage_->begin(
      {node, event.rank, event.operation, access.file, access.offset, of.amount, access.is_write},
      event.time);
  follow_storage(event);
}

/// Creates the events for which the storage has asked, and finishes the accesses that have ended.
void Replay::follow_storage(const Event& event) {
  for (const StorageStep& it : storage_->steps()) {
    queue_.push(
        {it.time, it.keeps_order ? event.order : created_++, it.id, 0, EventKind::kStorage});
  }
  for (const EndedAccess& it : storage_->ended()) {
    event_rank_ = it.rank;
    Ticks& cpu = clock(it.rank, resources_.cpu(ranks_[it.rank].operations[it.operation]));
    cpu = std::max(cpu, event.time);
    finish(it.rank, it.operation, event.time);
    push_free(event.time);
  }
}

void Replay::receive(const Event& event, const Operation& of) {
  start(event.rank, event.operation, event.time);
  Waiting message;
  if (!matching_.match_or_wait(
          {Side::kReceive, event.rank, of.peer, of.tag, event.operation, event.time}, message)) {
    return;
  }
  finish_rendezvous(message.source, message.operation, event.time);
  finish(event.rank, event.operation, std::max(event.time, message.ready));
}

void Replay::take_message(const Event& event, const Operation& of) {
  const Ticks end = event.time + costs_.receive_cpu(of.amount);
  clock(of.peer, resources_.cpu(of)) = end;
  clock(of.peer, resources_.receive_nic(of)) = event.time + costs_.nic(of.amount);
  deliver(event, of, end);
}

void Replay::take_inside(const Event& event, const Operation& of) {
  const Ticks end = event.time + routes_->costs.memory().receive_cpu(of.amount);
  clock(of.peer, resources_.cpu(of)) = end;
  deliver(event, of, end);
}

/// A message has been taken, which keeps the processor busy until `end`.
void Replay::deliver(const Event& event, const Operation& of, Ticks end) {
  Waiting receive;
  if (!matching_.match_or_wait({Side::kMessage, of.peer, event.rank, of.tag, event.operation, end},
                               receive)) {
    return;
  }
  finish_rendezvous(event.rank, event.operation, event.time);
  finish(of.peer, receive.operation, end);
}

void Replay::start(std::uint32_t rank, std::uint32_t operation, Ticks now) {
  const RankState& state = ranks_[rank];
  const std::uint32_t end = operation + 1 < state.size
                                ? state.operations[operation + 1].first_dependent
                                : state.dependent_count;
  for (std::uint32_t i = state.operations[operation].first_dependent; i < end; ++i) {
    if (!state.dependents[i].on_start()) return;
    release(rank, state.dependents[i].operation(), now);
  }
}

void Replay::finish(std::uint32_t rank, std::uint32_t operation, Ticks at) {
  const RankState& state = ranks_[rank];
  ++finished_;
  std::uint32_t end = state.dependent_count;
  if (operation + 1 < state.size) {
    const Operation& next = state.operations[operation + 1];
    end = next.first_dependent;
    if (next.follows) release(rank, operation + 1, at);
  }
  for (std::uint32_t i = state.operations[operation].first_dependent; i < end; ++i) {
    if (!state.dependents[i].on_start()) release(rank, state.dependents[i].operation(), at);
  }
}

/// Finishes a matched send, unless it was eager.
void Replay::finish_rendezvous(std::uint32_t rank, std::uint32_t operation, Ticks now) {
  const Operation& sent = ranks_[rank].operations[operation];
  if (costs_.is_eager(sent.amount)) return;
  Ticks& cpu = clock(rank, resources_.cpu(sent));
  cpu = std::max(cpu, now);
  if (!is_inside_node(rank, sent.peer)) {
    Ticks& nic = clock(rank, resources_.send_nic(sent));
    nic = std::max(nic, now);
  }
  sender_rank_ = rank;
  finish(rank, operation, now);
}

/// One of the operations that `operation` waits for has started or finished.
void Replay::release(std::uint32_t rank, std::uint32_t operation, Ticks at) {
  const RankState& state = ranks_[rank];
  if (has_several_cpus_) {
    Ticks& ready = ready_[state.unmet + operation - unmet_.data()];
    ready = std::max(ready, at);
  }
  if (!state.operations[operation].waits_for_others || --state.unmet[operation] == 0) {
    (rank == event_rank_ ? free_ : free_of_sender_).push_back(operation);
  }
}

/// Creates events for the freed operations: by rank, then by kind, then in the order of `release`.
void Replay::push_free(Ticks now) {
  if (!free_of_sender_.empty() && sender_rank_ < event_rank_) {
    push_free_of(sender_rank_, free_of_sender_, now);
  }
  push_free_of(event_rank_, free_, now);
  push_free_of(sender_rank_, free_of_sender_, now);
}

void Replay::push_free_of(std::uint32_t rank, std::vector<std::uint32_t>& free, Ticks now) {
  if (free.empty()) return;
  const RankState& state = ranks_[rank];
  for (const Kind kind : {Kind::kSend, Kind::kReceive, Kind::kCompute}) {
    for (const std::uint32_t it : free) {
      const Operation& of = state.operations[it];
      if (std::min(of.kind, Kind::kCompute) != kind) continue;
      __builtin_prefetch(&of + kAhead);
      auto event = static_cast<EventKind>(of.kind);
      if (kind == Kind::kSend && is_inside_node(rank, of.peer)) event = EventKind::kInsideSend;
      Ticks time = std::max(now, free_at(event, rank, of));
      if (has_several_cpus_) time = std::max(time, ready_[state.unmet + it - unmet_.data()]);
      queue_.push({time, created_++, it, rank, event});
    }
  }
  free.clear();
}

/// The operations that require no other one, rank by rank.
void Replay::push_first() {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    for (std::uint32_t i = 0; i < ranks_[rank].size; ++i) {
      if (ranks_[rank].unmet[i] == 0) free_.push_back(i);
    }
    push_free_of(rank, free_, 0);
  }
}

Result<Prediction> Replay::run() {
  push_first();
  while (!queue_.empty()) {
    Event event = queue_.pop();
    if (event.time >= kMaxTicks) return too_long();
    if (is_outside(event.kind)) {
      go_on(event);
    } else if (take_turn(event)) {
      handle(event);
    }
  }
  if (finished_ < unmet_.size()) return deadlock();
  return sum_up();
}

Result<Prediction> Replay::sum_up() {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    Ticks end = 0;
    for (std::size_t cpu = 0; cpu < resources_.cpus(); ++cpu) {
      end = std::max(end, clock(rank, cpu));
    }
    if (end >= kMaxTicks) return too_long();
    prediction_.end_ns.push_back(costs_.to_ns(end));
    prediction_.compute_ns.push_back(ranks_[rank].compute_ns);
    prediction_.makespan_ns = std::max(prediction_.makespan_ns, prediction_.end_ns.back());
  }
  const std::vector<RankAndOperation> left = waiting(false);
  prediction_.unreceived = left.size();
  if (!left.empty()) prediction_.first_unreceived = describe(left.front());
  return std::move(prediction_);
}

/// The operations that wait for their match, or the eager sends whose message does; in order.
std::vector<Replay::RankAndOperation> Replay::waiting(bool unfinished) const {
  std::vector<RankAndOperation> found;
  for (const Waiting& it : matching_.all()) {
    const bool receives = it.side == Side::kReceive;
    const std::uint32_t rank = receives ? it.receiver : it.source;
    const Operation& of = ranks_[rank].operations[it.operation];
    if ((receives || !costs_.is_eager(of.amount)) == unfinished) {
      found.emplace_back(rank, it.operation);
    }
  }
  std::ranges::sort(found);
  return found;
}

Unexpected Replay::too_long() const {
  return unexpected(Code::kInvalidArgument,
                    "the predicted run is longer than " +
                        std::to_string(kMaxTicks / costs_.ticks_per_ns() / 1'000'000'000) +
                        " s, the maximum for parameters with this number of digits after the "
                        "point; round the parameters, or cut the program");
}

std::string Replay::describe(const RankAndOperation& it) const {
  const auto& [rank, operation] = it;
  const Operation& of = ranks_[rank].operations[operation];
  const bool sends = of.kind == Kind::kSend;
  const auto number = [](std::uint32_t value, std::uint32_t any) {
    return value == any ? "any" : std::to_string(value);
  };
  return "rank " + std::to_string(rank) + ", operation " + std::to_string(operation + 1) +
         (sends ? ": send of " : ": receive of ") + std::to_string(of.amount) + " bytes " +
         (sends ? "to rank " : "from rank ") + number(of.peer, kAnySource) + ", tag " +
         number(of.tag, kAnyTag);
}

Unexpected Replay::deadlock() const {
  const std::vector<RankAndOperation> stuck = waiting(true);
  std::string named;
  for (std::size_t i = 0; i < std::min(stuck.size(), kMaxNamed); ++i) {
    const auto& [rank, operation] = stuck[i];
    const bool sends = ranks_[rank].operations[operation].kind == Kind::kSend;
    named += (i == 0 ? "" : "; ") + describe(stuck[i]) +
             (sends ? " (no receive matches)" : " (no message matches)");
  }
  if (stuck.size() > kMaxNamed) {
    named += "; and " + std::to_string(stuck.size() - kMaxNamed) + " more";
  }
  return unexpected(Code::kInvalidArgument,
                    "ranks wait forever: " + named +
                        ". Each receive needs a send of its source with its tag, and each send of "
                        "more than eager_bytes needs a receive");
}

Result<Prediction> replay_on(const Program& program, const LogGpsCosts& costs, const Routes* routes,
                             Storage* storage) {
  if (storage == nullptr) {
    const auto without =
        check_without_files(program, "the target has no storage; add the section [storage] to it");
    if (!without) return unexpected(without.error());
  }
  const Resources resources(program);
  const std::size_t per_rank = resources.pairs() + resources.clocks();
  if (program.ranks.size() > kMaxRanks || program.ranks.size() * per_rank > kMaxResources) {
    return unexpected(
        Code::kInvalidArgument,
        "the program has " + std::to_string(program.ranks.size()) + " ranks and " +
            std::to_string(resources.pairs()) +
            " combinations of CPU and NIC numbers, too many for one replay; use fewer "
            "CPU and NIC numbers");
  }
  return Replay(program, costs, routes, storage, resources).run();
}

}  // namespace

Result<Prediction> replay(const Program& program, const LogGps& parameters) {
  return replay_on(program, LogGpsCosts(parameters), nullptr, nullptr);
}

Result<Prediction> replay(const Program& program, const LogGpsCosts& costs, Storage& storage) {
  return replay_on(program, costs, nullptr, &storage);
}

Result<Prediction> replay(const Program& program, const FabricCosts& costs,
                          std::span<const Node> node_of_rank, Network& network, Storage* storage) {
  CHECK(node_of_rank.size() == program.ranks.size());
  const Routes routes{costs, node_of_rank, network};
  return replay_on(program, costs.ends(), &routes, storage);
}

}  // namespace xylem::predict
