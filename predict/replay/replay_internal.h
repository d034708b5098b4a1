#pragma once

// The state and the steps of a replay. replay.cc has the rules for events and operations,
// shared_cores.cc what differs if ranks share cores, result.cc what is said at the end.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "predict/node/scheduler.h"
#include "predict/replay/accounts_internal.h"
#include "predict/replay/event_queue_internal.h"
#include "predict/replay/matching_internal.h"
#include "predict/replay/replay.h"
#include "predict/replay/resources_internal.h"
#include "predict/replay/waiting_internal.h"

namespace xylem::predict {

/// Waiting lines of a rank for each combination of CPU and NIC: for sends, for messages, for all
/// that needs only a processor, and for messages from the same node.
constexpr std::size_t kLines = 4;
/// The clock of a processor whose work has asked for a core, until its end is known.
constexpr Ticks kUnknownEnd = Ticks{1} << 63;
/// Cores are looked at when all other events of the same time have happened, by rank.
constexpr std::uint64_t kOrderOfCores = std::uint64_t{1} << 63;

/// Where ranks are, and how their messages travel.
struct Routes {
  const FabricCosts& costs;
  std::span<const Node> node_of_rank;
  Network& network;
  const NodeCores& cores;
  bool shares_cores;  ///< A node has more ranks than cores.
};

/// The state of a replay. One call of run().
class Replay final : private SchedulerEvents {
 public:
  /// `routes` is null if each rank has a node of its own, and every message takes L: the usual
  /// case, and the fastest. `storage` may be null if the program accesses no files.
  Replay(const Program& program, const LogGpsCosts& costs, const Routes* routes, Storage* storage,
         const Resources& resources, const ReplayWatch& watch)
      : program_(program),
        costs_(costs),
        routes_(routes),
        storage_(storage),
        watch_(watch),
        resources_(resources),
        more_clocks_(program.ranks.size() * (resources.clocks() - kOwnClocks)),
        lines_(program.ranks.size() * resources.pairs() * kLines),
        matching_(resources.wild()),
        has_several_cpus_(resources.cpus() > 1),
        shares_cores_(routes != nullptr && routes->shares_cores),
        has_plain_clocks_(!has_several_cpus_ && !shares_cores_),
        is_plain_(has_plain_clocks_ && watch.timeline == nullptr),
        accounts_(is_plain_ ? 0 : program.ranks.size(), watch.timeline) {
    if (shares_cores_) share_cores();
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
    Ticks run = 0;                           ///< T_run, if the replay is plain.
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
  /// Events that wait for the same clocks stand in the same line. Receives wait only for a clock
  /// that is kUnknownEnd.
  std::size_t line_of(EventKind kind, std::uint32_t rank, const Operation& of) const {
    static constexpr std::array<std::uint8_t, 10> kLineOf = {0, 2, 2, 2, 2, 0, 0, 0, 3, 1};
    return (rank * resources_.pairs() + resources_.pair(of)) * kLines +
           kLineOf[static_cast<std::size_t>(kind)];
  }
  /// The rank at which an event happens.
  static std::uint32_t rank_of(const Event& event, const Operation& of) {
    return is_message(event.kind) ? of.peer : event.rank;
  }
  bool is_eager(const Operation& send) const {
    return send.buffered || (!send.synchronous && costs_.is_eager(send.amount));
  }
  bool is_inside_node(std::uint32_t a, std::uint32_t b) const {
    return routes_ != nullptr && routes_->node_of_rank[a] == routes_->node_of_rank[b];
  }

  Ticks free_at(EventKind kind, std::uint32_t rank, const Operation& of);
  bool take_turn(Event& event);
  bool answer(Event& call);
  /// Makes sure that the queue has a call for the first of a line. A call may come too early.
  void call_first(std::size_t line, Ticks at) {
    const std::uint32_t entry = lines_.first(line);
    if (entry == WaitingLines::kNone || lines_.is_called(entry)) return;
    if (at == kUnknownEnd) return;  // wake_lines() will do it.
    lines_.set_called(entry, true);
    Event call = lines_.event(entry);
    call.time = at;
    call.operation = entry;
    call.is_call = true;
    queue_.push(call);
  }

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

  /// The processor that `event` uses is busy with it until `end`.
  void keep_busy(const Event& event, const Operation& of, Ticks end) {
    clock(event_rank_, resources_.cpu(of)) = end;
    if (is_plain_) {
      ranks_[event_rank_].run += end - event.time;
    } else if (!shares_cores_) {
      accounts_.add(event_rank_, TimelineState::kRun, event.time, end, doing_of(event, of));
    }
  }
  static Doing doing_of(const Event& event, const Operation& of);

  // Only with shares_cores_.
  void share_cores();
  Ticks work_of(const Event& event, const Operation& of) const;
  void ask_for_core(const Event& event);
  void wake_lines(std::uint32_t rank, Ticks now);
  void begins(std::uint32_t rank, Ticks now) override;
  void ends(std::uint32_t rank, Ticks now) override;
  void ran(std::uint32_t rank, Ticks begin, Ticks end) override;
  void waited(std::uint32_t rank, Ticks begin, Ticks end) override;
  void wake_at(std::uint32_t rank, Ticks time) override;

  void start(std::uint32_t rank, std::uint32_t operation, Ticks now);
  void finish(std::uint32_t rank, std::uint32_t operation, Ticks at);
  void finish_rendezvous(std::uint32_t rank, std::uint32_t operation, Ticks now);
  void release(std::uint32_t rank, std::uint32_t operation, Ticks at);
  void push_first();
  /// Creates events for the freed operations: by rank, then by kind, then in the order of
  /// `release`.
  void push_free(Ticks now) {
    if (!free_of_sender_.empty() && sender_rank_ < event_rank_) {
      push_free_of(sender_rank_, free_of_sender_, now);
    }
    push_free_of(event_rank_, free_, now);
    push_free_of(sender_rank_, free_of_sender_, now);
  }
  void push_free_of(std::uint32_t rank, std::vector<std::uint32_t>& free, Ticks now);
  Ticks known_time(Ticks time, const Event& event);

  Result<Prediction> sum_up();
  Unexpected too_long() const;
  Unexpected deadlock() const;
  std::vector<RankAndOperation> waiting(bool unfinished) const;
  std::string describe(const RankAndOperation& it) const;

  const Program& program_;
  const LogGpsCosts costs_;
  const Routes* const routes_;
  Storage* const storage_;
  const ReplayWatch& watch_;
  const Resources& resources_;
  std::vector<RankState> ranks_;
  std::vector<Ticks> more_clocks_;
  std::vector<std::uint32_t> unmet_;  ///< For each operation: how many it still waits for.
  std::vector<Ticks> ready_;  ///< For each operation, with several CPUs: its earliest start.
  EventQueue queue_;
  WaitingLines lines_;
  Matching matching_;
  const bool has_several_cpus_;
  const bool shares_cores_;      ///< As in Routes.
  const bool has_plain_clocks_;  ///< Each rank has one processor, whose clock is always known.
  const bool is_plain_;          ///< RankState::run has all that accounts_ would have.
  Accounts accounts_;
  std::optional<Scheduler> scheduler_;
  /// With the scheduler, for each rank: the event that needs a core, and the one that is under way.
  std::vector<Event> asked_, running_;
  std::uint64_t created_ = 0;  ///< Events, without calls.
  std::uint64_t left_ = 0;     ///< Events until the next call of ReplayWatch::go_on.
  std::uint64_t finished_ = 0;
  std::vector<std::uint32_t> on_the_way_;  ///< For each number of the network: the operation.
  Prediction prediction_;
  // The operations that the current event has freed: of `event_rank_`, and of the sender of a
  // rendezvous if that is another rank.
  std::vector<std::uint32_t> free_, free_of_sender_;
  std::uint32_t event_rank_ = 0, sender_rank_ = 0;
};

}  // namespace xylem::predict
