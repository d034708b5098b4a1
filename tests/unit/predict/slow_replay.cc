#include "tests/unit/predict/slow_replay.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "base/ids.h"

namespace xylem::predict::testing {
namespace {

using Time = std::uint64_t;  // In femtoseconds, whatever the parameters.

struct Step {
  std::uint32_t rank = 0;
  Operation what;
  /// Steps of the same rank that must have started or ended.
  std::vector<std::size_t> after_start, after_end;
  std::vector<std::size_t> wakes_at_start, wakes_at_end;  ///< The inverse, in the program's order.
  bool is_free = false, has_started = false, has_ended = false;
  Time started = 0, ended = 0;
  std::uint64_t number = 0;  ///< In the order in which steps become free and messages are sent.
};

struct Message {
  std::size_t send = 0;
  Time arrival = 0;
  std::uint64_t number = 0;
  bool is_taken = false, is_matched = false;
  Time taken_until = 0;
  std::uint64_t taken_number = 0;
};

class SlowReplay {
 public:
  SlowReplay(const Program& program, const LogGps& parameters, const SlowNodes& nodes)
      : parameters_(parameters), nodes_(nodes) {
    for (std::uint32_t rank = 0; rank < program.ranks.size(); ++rank) {
      const std::size_t first = steps_.size();
      const auto operations = program.ranks[rank].operations();
      for (const Operation& it : operations) {
        steps_.emplace_back();
        steps_.back().rank = rank;
        steps_.back().what = it;
      }
      for (std::uint32_t i = 0; i < operations.size(); ++i) {
        if (operations[i].follows) depend(first + i, first + i - 1, false);
        for (const Dependent it : program.ranks[rank].dependents(i)) {
          later_.emplace_back(first + it.operation(), first + i, it.on_start());
        }
      }
    }
    // The next operation comes before the others that wait for the end.
    for (const auto& [step, required, on_start] : later_) depend(step, required, on_start);
    ranks_ = static_cast<std::uint32_t>(program.ranks.size());
  }

  std::optional<SlowPrediction> run() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      std::vector<std::size_t> of_rank;
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        if (steps_[i].rank == rank) of_rank.push_back(i);
      }
      set_free(of_rank);
    }
    while (happen()) ++result_.events;
    for (const Step& it : steps_) {
      if (!it.has_ended) return std::nullopt;
    }
    result_.end_ns.resize(ranks_);
    for (const auto& [key, clock] : cpu_) {
      result_.end_ns[key.first] =
          std::max(result_.end_ns[key.first], (clock + 500'000) / 1'000'000);
    }
    for (const Message& it : messages_) result_.unreceived += it.is_matched ? 0 : 1;
    result_.messages = messages_.size();
    return result_;
  }

 private:
  using Key = std::pair<std::uint32_t, int>;  // Rank, and its processor's or NIC's number.

  void depend(std::size_t step, std::size_t required, bool on_start) {
    (on_start ? steps_[step].after_start : steps_[step].after_end).push_back(required);
    (on_start ? steps_[required].wakes_at_start : steps_[required].wakes_at_end).push_back(step);
  }

  Time more(std::uint64_t bytes, Femtoseconds each) const {
    return bytes == 0 ? 0 : (bytes - 1) * raw(each);
  }
  Time overhead() const { return raw(parameters_.overhead); }
  bool is_inside(const Step& send) const {
    return !nodes_.node_of_rank.empty() &&
           nodes_.node_of_rank[send.rank] == nodes_.node_of_rank[send.what.peer];
  }
  bool is_eager(const Step& send) const {
    if (send.what.synchronous) return false;
    return send.what.buffered || send.what.amount <= parameters_.eager_bytes;
  }

  /// When the step can happen, as far as known now.
  Time time_of(const Step& step) {
    Time time = std::max(step.started, cpu_[{step.rank, step.what.cpu}]);
    if (step.what.kind == Kind::kSend && !is_inside(step)) {
      time = std::max(time, out_[{step.rank, step.what.nic}]);
    }
    // A receive is posted at the clock that was valid when it became free.
    return step.what.kind == Kind::kReceive ? step.started : time;
  }

  Time time_of(const Message& message) {
    const Step& send = steps_[message.send];
    const Time time = std::max(message.arrival, cpu_[{send.what.peer, send.what.cpu}]);
    return is_inside(send) ? time : std::max(time, in_[{send.what.peer, send.what.nic}]);
  }

  /// Takes the first event of all. False if there is none.
  bool happen() {
    Step* first_step = nullptr;
    Message* first_message = nullptr;
    std::pair<Time, std::uint64_t> first{~Time{0}, 0};
    for (Step& it : steps_) {
      if (it.is_free && !it.has_started && std::pair{time_of(it), it.number} < first) {
        first = {time_of(it), it.number};
        first_step = &it;
      }
    }
    for (Message& it : messages_) {
      if (!it.is_taken && std::pair{time_of(it), it.number} < first) {
        first = {time_of(it), it.number};
        first_message = &it;
      }
    }
    woken_.clear();
    if (first_message) {
      take(*first_message, first.first);
    } else if (first_step) {
      happen(*first_step, first.first);
    } else {
      return false;
    }
    std::map<std::uint32_t, std::vector<std::size_t>> by_rank;
    for (const std::size_t it : woken_) by_rank[steps_[it].rank].push_back(it);
    for (const auto& [rank, steps] : by_rank) set_free(steps);
    return true;
  }

  void happen(Step& step, Time now) {
    step.has_started = true;
    step.started = now;
    wake(step.wakes_at_start);
    const std::size_t index = static_cast<std::size_t>(&step - steps_.data());
    const std::uint64_t bytes = step.what.amount;
    Time& cpu = cpu_[{step.rank, step.what.cpu}];
    if (step.what.kind == Kind::kCompute) {
      cpu = now + bytes * 1'000'000;
      end(step, cpu);
    } else if (step.what.kind == Kind::kSend) {
      cpu = now + overhead() + more(bytes, parameters_.overhead_per_byte);
      Time latency = raw(nodes_.latency);
      if (!is_inside(step)) {
        latency = raw(parameters_.latency);
        out_[{step.rank, step.what.nic}] =
            now + raw(parameters_.gap) + more(bytes, parameters_.gap_per_byte);
      }
      messages_.push_back({index, now + overhead() + latency, numbers_++});
      if (is_eager(step)) end(step, cpu);
    } else {
      post(step, now);
    }
  }

  static bool fits(const Step& receive, const Step& send) {
    return send.what.peer == receive.rank &&
           (receive.what.peer == kAnySource || receive.what.peer == send.rank) &&
           (receive.what.tag == send.what.tag ||
            (receive.what.tag == kAnyTag && send.what.tag < kFirstCollectiveTag));
  }

  void post(Step& receive, Time now) {
    Message* found = nullptr;
    for (Message& it : messages_) {
      if (it.is_taken && !it.is_matched && fits(receive, steps_[it.send]) &&
          (!found || it.taken_number < found->taken_number)) {
        found = &it;
      }
    }
    receive.number = numbers_of_posts_++;
    if (!found) return;
    found->is_matched = true;
    end_rendezvous(steps_[found->send], now);
    end(receive, std::max(now, found->taken_until));
  }

  void take(Message& message, Time now) {
    const Step& send = steps_[message.send];
    const std::uint64_t bytes = send.what.amount;
    message.is_taken = true;
    message.taken_number = numbers_of_taken_++;
    const Femtoseconds wire = is_inside(send) ? nodes_.per_byte : parameters_.gap_per_byte;
    message.taken_until =
        now + overhead() + std::max(more(bytes, parameters_.overhead_per_byte), more(bytes, wire));
    cpu_[{send.what.peer, send.what.cpu}] = message.taken_until;
    if (!is_inside(send)) {
      in_[{send.what.peer, send.what.nic}] =
          now + raw(parameters_.gap) + more(bytes, parameters_.gap_per_byte);
    }
    Step* found = nullptr;
    for (Step& it : steps_) {
      if (it.what.kind == Kind::kReceive && it.has_started && !it.has_ended && fits(it, send) &&
          (!found || it.number < found->number)) {
        found = &it;
      }
    }
    if (!found) return;
    message.is_matched = true;
    end_rendezvous(steps_[message.send], now);
    end(*found, message.taken_until);
  }

  void end_rendezvous(Step& send, Time now) {
    if (is_eager(send)) return;
    Time& cpu = cpu_[{send.rank, send.what.cpu}];
    cpu = std::max(cpu, now);
    if (!is_inside(send)) {
      Time& out = out_[{send.rank, send.what.nic}];
      out = std::max(out, now);
    }
    end(send, now);
  }

  void end(Step& step, Time at) {
    step.has_ended = true;
    step.ended = at;
    wake(step.wakes_at_end);
  }

  void wake(const std::vector<std::size_t>& steps) {
    woken_.insert(woken_.end(), steps.begin(), steps.end());
  }

  bool can_start(const Step& step) const {
    return std::ranges::all_of(step.after_start,
                               [&](std::size_t it) { return steps_[it].has_started; }) &&
           std::ranges::all_of(step.after_end,
                               [&](std::size_t it) { return steps_[it].has_ended; });
  }

  /// The candidates of one rank that may start now: by kind, then by their last occurrence.
  void set_free(std::vector<std::size_t> candidates) {
    std::ranges::reverse(candidates);
    std::vector<std::size_t> once;
    for (const std::size_t it : candidates) {
      if (std::ranges::find(once, it) == once.end()) once.push_back(it);
    }
    std::ranges::reverse(once);
    for (const Kind kind : {Kind::kSend, Kind::kReceive, Kind::kCompute}) {
      for (const std::size_t it : once) {
        Step& step = steps_[it];
        if (step.what.kind != kind || step.is_free || !can_start(step)) continue;
        step.is_free = true;
        step.number = numbers_++;
        step.started = cpu_[{step.rank, step.what.cpu}];
        for (const std::size_t other : step.after_start) {
          step.started = std::max(step.started, steps_[other].started);
        }
        for (const std::size_t other : step.after_end) {
          step.started = std::max(step.started, steps_[other].ended);
        }
      }
    }
  }

  const LogGps& parameters_;
  const SlowNodes& nodes_;
  std::uint32_t ranks_ = 0;
  std::vector<Step> steps_;
  std::vector<std::tuple<std::size_t, std::size_t, bool>> later_;
  std::vector<Message> messages_;
  std::map<Key, Time> cpu_, out_, in_;
  std::vector<std::size_t> woken_;
  std::uint64_t numbers_ = 0, numbers_of_posts_ = 0, numbers_of_taken_ = 0;
  SlowPrediction result_;
};

}  // namespace

std::optional<SlowPrediction> slow_replay(const Program& program, const LogGps& parameters,
                                          const SlowNodes& nodes) {
  return SlowReplay(program, parameters, nodes).run();
}

}  // namespace xylem::predict::testing
