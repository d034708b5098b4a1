#include "predict/replay/replay.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "predict/replay/replay_internal.h"

// Steps that are used in one place are inline. Without this, a replay needs 9 % more instructions.
namespace xylem::predict {
namespace {

/// Maximum number of clocks and waiting lines. They take 8 and 16 bytes.
constexpr std::uint64_t kMaxResources = std::uint64_t{1} << 26;
/// ReplayWatch::go_on is called after so many events, waiting ones included.
constexpr std::uint64_t kEventsBetweenCalls = 1 << 16;

/// So many bytes of a file take about as long as an event: a page.
constexpr std::uint64_t kBytesOfEvent = 4096;

/// Loads operations so far ahead: programs do not fit into a cache, and run mostly in their order.
constexpr std::size_t kAhead = 8;

}  // namespace

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
inline bool Replay::take_turn(Event& event) {
  if (event.is_call) return answer(event);
  if (event.kind == EventKind::kReceive) return true;
  const Operation& of = operation_of(event);
  const std::uint32_t rank = rank_of(event, of);
  const Ticks free = free_at(event.kind, rank, of);
  if (free <= event.time) return true;
  const std::size_t line = line_of(event.kind, rank, of);
  lines_.add(line, event);
  call_first(line, free);
  return false;
}

inline bool Replay::answer(Event& call) {
  const std::uint32_t entry = call.operation;
  lines_.set_called(entry, false);
  Event event = lines_.event(entry);
  const Operation& of = operation_of(event);
  const std::uint32_t rank = rank_of(event, of);
  const std::size_t line = line_of(event.kind, rank, of);
  if (lines_.first(line) != entry) return false;  // One that was created earlier has come.
  const Ticks free = free_at(event.kind, rank, of);
  if (free > call.time && event.kind != EventKind::kReceive) {
    call_first(line, free);
    return false;
  }
  lines_.remove_first(line);
  event.time = call.time;
  event.is_call = true;
  call = event;
  return true;
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
    const Ticks free = free_at(event.kind, event_rank_, of);
    call_first(line_of(event.kind, event_rank_, of), std::max(event.time, free));
  }
  push_free(event.time);
}

Doing Replay::doing_of(const Event& event, const Operation& of) {
  if (event.kind == EventKind::kCompute) return {};
  if (event.kind == EventKind::kFile) return {Activity::kFile, 0, of.amount};
  if (is_message(event.kind)) return {Activity::kReceive, event.rank, of.amount};
  return {Activity::kSend, of.peer, of.amount};
}

inline void Replay::compute(const Event& event, const Operation& of) {
  const Ticks end = event.time + costs_.from_ns(of.amount);
  keep_busy(event, of, end);
  start(event.rank, event.operation, event.time);
  finish(event.rank, event.operation, end);
}

inline void Replay::send(const Event& event, const Operation& of) {
  const Ticks end = event.time + costs_.send_cpu(of.amount);
  keep_busy(event, of, end);
  clock(event.rank, resources_.send_nic(of)) = event.time + costs_.nic(of.amount);
  if (routes_ == nullptr) {
    queue_.push({event.time + costs_.flight(), created_++, event.operation, event.rank,
                 EventKind::kMessage});
  } else {
    enter_network(event, of);
  }
  ++prediction_.messages;
  start(event.rank, event.operation, event.time);
  if (is_eager(of)) finish(event.rank, event.operation, end);
}

inline void Replay::send_inside(const Event& event, const Operation& of) {
  const Ticks end = event.time + costs_.send_cpu(of.amount);
  keep_busy(event, of, end);
  queue_.push({event.time + routes_->costs.memory().flight(), created_++, event.operation,
               event.rank, EventKind::kInsideMessage});
  ++prediction_.messages;
  start(event.rank, event.operation, event.time);
  if (is_eager(of)) finish(event.rank, event.operation, end);
}

inline void Replay::enter_network(const Event& event, const Operation& of) {
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

inline void Replay::go_on(const Event& event) {
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
  left_ -= std::min(left_ - 1, of.amount / kBytesOfEvent);
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
    const Operation& of = ranks_[it.rank].operations[it.operation];
    Ticks& cpu = clock(it.rank, resources_.cpu(of));
    if (cpu < event.time) {
      if (!is_plain_) accounts_.block(it.rank, event.time, {Activity::kFile, 0, of.amount});
      cpu = event.time;
    }
    finish(it.rank, it.operation, event.time);
    push_free(event.time);
  }
}

inline void Replay::receive(const Event& event, const Operation& of) {
  start(event.rank, event.operation, event.time);
  Waiting message;
  if (!matching_.match_or_wait(
          {Side::kReceive, event.rank, of.peer, of.tag, event.operation, event.time}, message)) {
    return;
  }
  finish_rendezvous(message.source, message.operation, event.time);
  finish(event.rank, event.operation, std::max(event.time, message.ready));
}

inline void Replay::take_message(const Event& event, const Operation& of) {
  const Ticks end = event.time + costs_.receive_cpu(of.amount);
  keep_busy(event, of, end);
  clock(of.peer, resources_.receive_nic(of)) = event.time + costs_.nic(of.amount);
  deliver(event, of, end);
}

inline void Replay::take_inside(const Event& event, const Operation& of) {
  const Ticks end = event.time + routes_->costs.memory().receive_cpu(of.amount);
  keep_busy(event, of, end);
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
  if (is_eager(sent)) return;
  Ticks& cpu = clock(rank, resources_.cpu(sent));
  if (cpu < now) {
    if (!is_plain_) accounts_.block(rank, now, {Activity::kSend, sent.peer, sent.amount});
    cpu = now;
  }
  if (!is_inside_node(rank, sent.peer)) {
    Ticks& nic = clock(rank, resources_.send_nic(sent));
    nic = std::max(nic, now);
  }
  sender_rank_ = rank;
  finish(rank, operation, now);
}

/// One of the operations that `operation` waits for has started or finished.
inline void Replay::release(std::uint32_t rank, std::uint32_t operation, Ticks at) {
  const RankState& state = ranks_[rank];
  if (has_several_cpus_) {
    Ticks& ready = ready_[state.unmet + operation - unmet_.data()];
    ready = std::max(ready, at);
  }
  if (!state.operations[operation].waits_for_others || --state.unmet[operation] == 0) {
    (rank == event_rank_ ? free_ : free_of_sender_).push_back(operation);
  }
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
      if (!has_plain_clocks_) {
        time = known_time(time, {now, created_, it, rank, event});
        if (time == kUnknownEnd) continue;
      }
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
  left_ = kEventsBetweenCalls;
  while (!queue_.empty()) {
    Event event = queue_.pop();
    if (event.time >= kMaxTicks) return too_long();
    if (is_outside(event.kind)) {
      event.kind == EventKind::kCore ? scheduler_->wake(event.rank, event.time) : go_on(event);
    } else if (take_turn(event)) {
      shares_cores_ ? ask_for_core(event) : handle(event);
    }
    if (--left_ > 0) continue;
    left_ = kEventsBetweenCalls;
    if (watch_.go_on && !watch_.go_on(prediction_.events)) {
      return unexpected(Code::kUnavailable, "the replay was stopped");
    }
  }
  if (finished_ < unmet_.size()) return deadlock();
  return sum_up();
}

namespace {

/// Whether this is so on any node. 0 cores: as many as needed.
bool has_more_ranks_than_cores(std::span<const Node> node_of_rank, std::uint32_t cores) {
  std::vector<std::uint32_t> ranks_on;
  if (cores == 0) return false;
  for (const Node it : node_of_rank) {
    ranks_on.resize(std::max<std::size_t>(ranks_on.size(), raw(it) + std::size_t{1}));
    if (++ranks_on[raw(it)] > cores) return true;
  }
  return false;
}

Result<Prediction> replay_on(const Program& program, const LogGpsCosts& costs, const Routes* routes,
                             Storage* storage, const ReplayWatch& watch) {
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
  if (routes != nullptr && routes->shares_cores && resources.cpus() > 1) {
    return unexpected(
        Code::kInvalidArgument,
        "the program has several CPU numbers, which is not possible on nodes with "
        "more ranks than cores; raise node.cores, lower node.processes, or use one CPU "
        "number (in a run, each thread that calls MPI has one)");
  }
  if (watch.timeline != nullptr) watch.timeline->begin(costs.ticks_per_ns());
  return Replay(program, costs, routes, storage, resources, watch).run();
}

}  // namespace

Result<Prediction> replay(const Program& program, const LogGps& parameters,
                          const ReplayWatch& watch) {
  return replay_on(program, LogGpsCosts(parameters), nullptr, nullptr, watch);
}

Result<Prediction> replay(const Program& program, const LogGpsCosts& costs, Storage& storage,
                          const ReplayWatch& watch) {
  return replay_on(program, costs, nullptr, &storage, watch);
}

Result<Prediction> replay(const Program& program, const FabricCosts& costs,
                          std::span<const Node> node_of_rank, Network& network,
                          const NodeCores& cores, const ReplayWatch& watch, Storage* storage) {
  CHECK(node_of_rank.size() == program.ranks.size());
  const Routes routes{costs, node_of_rank, network, cores,
                      has_more_ranks_than_cores(node_of_rank, cores.cores)};
  return replay_on(program, costs.ends(), &routes, storage, watch);
}

}  // namespace xylem::predict
