#include "tests/unit/predict/slow_cores.h"

#include <algorithm>
#include <cstddef>
#include <deque>

namespace xylem::predict::testing {
namespace {

struct Process {
  std::vector<Work> work;
  std::size_t next = 0;        ///< The work that it asks for next.
  std::uint64_t asks_at = 0;   ///< When it does that.
  std::uint64_t left = 0;      ///< Of the work that it has.
  std::uint64_t in_slice = 0;  ///< Ticks that it has had of its slice.
  bool is_whole = false, has_core = false, waits = false;
  std::string letters{};
};

class SlowCores {
 public:
  SlowCores(const std::vector<std::vector<Work>>& work, std::uint32_t cores, std::uint64_t slice)
      : free_(cores), slice_(slice) {
    for (const auto& it : work) {
      processes_.push_back({.work = it});
      if (!it.empty()) processes_.back().asks_at = it[0].pause;
    }
  }

  Letters run() {
    for (std::uint64_t now = 0; !is_over(); ++now) {
      for (std::size_t i = 0; i < processes_.size(); ++i) {
        if (asks_now(processes_[i], now)) ask(i);
      }
      for (std::size_t i = 0; i < processes_.size(); ++i) {
        if (processes_[i].has_core) look_at(i, now);
      }
      for (Process& it : processes_) pass_tick(it);
    }
    Letters letters;
    for (Process& it : processes_) {
      it.letters.resize(it.letters.find_last_not_of('-') + 1);
      letters.push_back(it.letters);
    }
    return letters;
  }

 private:
  bool is_over() const {
    return std::ranges::all_of(processes_, [](const Process& it) {
      return it.next == it.work.size() && it.left == 0 && !it.has_core;
    });
  }

  static bool asks_now(const Process& it, std::uint64_t now) {
    return it.left == 0 && !it.has_core && it.next < it.work.size() && it.asks_at == now;
  }

  static void take_work(Process& it) {
    it.left = it.work[it.next].length;
    it.is_whole = it.work[it.next].is_whole;
    ++it.next;
  }

  void ask(std::size_t i) {
    take_work(processes_[i]);
    if (free_ == 0) return queue(i);
    --free_;
    take_core(processes_[i]);
  }

  void take_core(Process& it) {
    it.has_core = true;
    it.waits = false;
    it.in_slice = 0;
  }

  void queue(std::size_t i) {
    processes_[i].has_core = false;
    processes_[i].waits = true;
    queue_.push_back(i);
  }

  void pass_core_on() {
    if (queue_.empty()) {
      ++free_;
      return;
    }
    take_core(processes_[queue_.front()]);
    queue_.pop_front();
  }

  /// The process has a core, and all that ask for one now have done so.
  void look_at(std::size_t i, std::uint64_t now) {
    Process& it = processes_[i];
    bool is_inside_work = true;
    if (it.left == 0) {
      is_inside_work = false;
      const bool has_more = it.next < it.work.size();
      if (has_more) it.asks_at = now + it.work[it.next].pause;
      if (!has_more || it.asks_at > now) {
        it.has_core = false;
        pass_core_on();
        return;
      }
      take_work(it);
    }
    if (it.in_slice < slice_ || (is_inside_work && it.is_whole)) return;
    if (queue_.empty()) {
      it.in_slice = 0;
    } else {
      queue(i);
      pass_core_on();
    }
  }

  static void pass_tick(Process& it) {
    it.letters += it.waits ? 'w' : it.has_core ? 'r' : '-';
    if (!it.has_core) return;
    --it.left;
    ++it.in_slice;
  }

  std::uint32_t free_;
  std::uint64_t slice_;
  std::vector<Process> processes_;
  std::deque<std::size_t> queue_;
};

}  // namespace

Letters slow_cores(const std::vector<std::vector<Work>>& work, std::uint32_t cores,
                   std::uint64_t slice) {
  return SlowCores(work, cores, slice).run();
}

}  // namespace xylem::predict::testing
