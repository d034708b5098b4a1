#pragma once

// Events that wait until a processor or NIC is free. All events of one line wait for the same
// resources, so only the first of a line can be the next, and only this one needs an entry in the
// event queue. Without lines, a rank at which n messages wait would look at n of them whenever it
// takes one.
//
// Each line is a skew heap. D. Sleator, R. Tarjan: Self-adjusting heaps, SIAM J. Comput. 15 (1986).

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "predict/replay/event_queue_internal.h"

namespace xylem::predict {

/// Numbered lines of events, each in the order of creation. An entry can be marked as called: the
/// event queue then has a call for it. A value type; not thread-safe.
class WaitingLines {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  explicit WaitingLines(std::size_t lines) : firsts_(lines, kNone) {}

  /// The first entry of a line, or kNone.
  std::uint32_t first(std::size_t line) const { return firsts_[line]; }
  /// The entry's event; it is valid until the next add().
  const Event& event(std::uint32_t entry) const { return entries_[entry].event; }
  bool is_called(std::uint32_t entry) const { return entries_[entry].is_called; }
  void set_called(std::uint32_t entry, bool called) { entries_[entry].is_called = called; }

  void add(std::size_t line, const Event& event) {
    std::uint32_t entry = free_;
    if (entry == kNone) {
      entry = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({event, kNone, kNone, false});
    } else {
      free_ = entries_[entry].left;
      entries_[entry] = {event, kNone, kNone, false};
    }
    firsts_[line] = merge(firsts_[line], entry);
  }

  /// The line is not empty, and its first entry is not called.
  void remove_first(std::size_t line) {
    const std::uint32_t entry = firsts_[line];
    firsts_[line] = merge(entries_[entry].left, entries_[entry].right);
    entries_[entry].left = free_;
    free_ = entry;
  }

 private:
  struct Entry {
    Event event;
    std::uint32_t left, right;
    bool is_called;
  };

  /// Merges the right spines of two heaps from the top, and swaps the children on the way. Not
  /// recursive: a spine may be long.
  std::uint32_t merge(std::uint32_t a, std::uint32_t b) {
    std::uint32_t root = kNone;
    std::uint32_t parent = kNone;
    while (a != kNone && b != kNone) {
      if (entries_[b].event.order < entries_[a].event.order) std::swap(a, b);
      // `a` is next on the merged spine. Its old left child moves to the right, the rest of the
      // spine to the left.
      (parent == kNone ? root : entries_[parent].left) = a;
      const std::uint32_t rest = entries_[a].right;
      entries_[a].right = entries_[a].left;
      parent = a;
      a = rest;
    }
    (parent == kNone ? root : entries_[parent].left) = a != kNone ? a : b;
    return root;
  }

  std::vector<std::uint32_t> firsts_;  ///< For each line the root of its heap.
  std::vector<Entry> entries_;
  std::uint32_t free_ = kNone;  ///< Unused entries, linked by `left`.
};

}  // namespace xylem::predict
