#pragma once

// Follows direct causes of waits to their root causes, and sums up the waits.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "storage/read/wait_states.h"

namespace xylem::storage {

/// A thread of a process.
struct ThreadOf {
  ProcessIndex process{};
  ThreadIndex thread{};
  bool operator==(const ThreadOf&) const = default;
};

/// A part of a call in which it waited for one cause.
struct WaitSpan {
  Nanos begin_ns = 0, end_ns = 0;
  ThreadOf cause;
  WaitKind kind{};
};

/// Keeps each wait until everything that it may depend on is known: the waits of its causes that
/// end before it does. A wait of a cause ends before the cause does what ends the wait, so waits
/// are followed in the order of their ends. Until its call returns, a thread counts as waiting for
/// the last cause: the message is on its way, or the thread has not got a processor yet. Then a
/// wait is kept as part of the history of its thread, as long as later waits may refer to it. Not
/// thread-safe.
class WaitCauses {
 public:
  struct Process {
    WorldId world{};
    Rank rank{};
  };
  /// `max_kept`: the maximum number of waits that are kept, and of parts of the history.
  explicit WaitCauses(std::size_t max_kept = kMaxKept) : max_kept_(max_kept) {}

  void add_process(Process process) { processes_.push_back(process); }

  /// A call that ended at `end_ns` has waited. The spans do not overlap and are in the order of
  /// time.
  void add(ThreadOf waiting, FunctionIndex function, Nanos end_ns,
           const std::vector<WaitSpan>& spans);

  /// All waits that begin before `known` have been added. Follows those that end by then, and
  /// forgets the history that no later wait can refer to. If too many waits are kept, follows more.
  void follow(Nanos known);

  /// Number of waits and of parts of the history.
  std::size_t kept() const { return waits_.size() + parts_; }

  /// The rows so far, the longest first.
  std::vector<WaitState> rows(const std::vector<WaitFunction>& functions) const;
  /// Time by world whose root cause was perhaps not followed to its end.
  const std::map<WorldId, Nanos>& unfollowed() const { return unfollowed_; }

 private:
  static constexpr std::size_t kMaxKept = std::size_t{1} << 21;

  struct Wait {
    ThreadOf thread;
    FunctionIndex function{};
    std::uint32_t count = 0;  // Of spans.
    std::size_t first = 0;
    Nanos begin_ns = 0, end_ns = 0;
    Nanos call_end_ns = 0;
  };
  struct Part {  // Of a thread's history.
    Nanos begin_ns = 0, end_ns = 0;
    Rank root{};
  };
  struct History {
    std::vector<Part> parts;  // In the order of time.
    std::size_t first = 0;    // Those before are forgotten.
    Nanos cut_at = 0;         // Parts up to here were forgotten because there were too many.
  };
  struct RowKey {
    WorldId world{};
    Rank rank{}, cause{}, root{};
    FunctionIndex function{};
    WaitKind kind{};
    bool operator==(const RowKey&) const = default;
  };
  struct RowHash {
    std::size_t operator()(const RowKey& key) const noexcept;
  };
  struct Sum {
    Nanos time_ns = 0;
    std::uint64_t calls = 0;
    std::uint64_t latest_call = 0;
  };
  struct ThreadHash {
    std::size_t operator()(const ThreadOf& of) const noexcept {
      return std::hash<std::uint64_t>()(std::uint64_t{raw(of.process)} << 32 | raw(of.thread));
    }
  };

  void follow_one(const Wait& wait);
  void follow_span(const Wait& wait, const WaitSpan& span, History& own);
  void add_part(const Wait& wait, const WaitSpan& span, Nanos begin, Nanos end, Rank root,
                History& own);
  void compact(std::vector<Wait> left);
  void forget(Nanos before);
  void limit_history();

  std::size_t max_kept_;
  Nanos known_ = std::numeric_limits<Nanos>::min();
  std::vector<Process> processes_;
  std::vector<Wait> waits_;
  std::vector<WaitSpan> spans_;
  std::unordered_map<ThreadOf, History, ThreadHash> histories_;
  std::size_t parts_ = 0;
  std::unordered_map<RowKey, Sum, RowHash> rows_;
  std::uint64_t calls_ = 0;
  std::map<WorldId, Nanos> unfollowed_;
};

}  // namespace xylem::storage
