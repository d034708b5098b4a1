#pragma once

// Events that wait until a processor or NIC is free. All events of one line wait for the same
// resources, so only the first of a line can be the next, and only this one needs an entry in the
// event queue. Without lines, a rank at which n messages wait would look at n of them whenever it
// takes one.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "predict/replay/event_queue_internal.h"

namespace xylem::predict {

/// Numbered lines of events, each in the order of creation. An entry can be marked as called: the
/// event queue then has a call for it. A value type; not thread-safe.
class WaitingLines {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  explicit WaitingLines(std::size_t lines) : lines_(lines) {}

  /// The first entry of a line, or kNone.
  std::uint32_t first(std::size_t line) const { return lines_[line].first; }
  /// The entry's event; it is valid until the next add().
  const Event& event(std::uint32_t entry) const { return entries_[entry].event; }
  bool is_called(std::uint32_t entry) const { return entries_[entry].is_called; }
  void set_called(std::uint32_t entry, bool called) { entries_[entry].is_called = called; }

  /// Takes constant time if the event was created later than all others of the line. This is so for
  /// all messages, and on ranks with one processor for all operations.
  void add(std::size_t line, const Event& event) {
    const std::uint32_t entry = new_entry(event);
    Ends& ends = lines_[line];
    if (ends.first == kNone) {
      ends.first = ends.last = entry;
    } else if (entries_[ends.last].event.order < event.order) {
      entries_[ends.last].next = entry;
      ends.last = entry;
    } else {
      insert(ends, entry);
    }
  }

  /// The line is not empty, and its first entry is not called.
  void remove_first(std::size_t line) {
    const std::uint32_t entry = lines_[line].first;
    lines_[line].first = entries_[entry].next;
    entries_[entry].next = unused_;
    unused_ = entry;
  }

 private:
  struct Entry {
    Event event;
    std::uint32_t next;
    bool is_called;
  };
  struct Ends {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;  ///< Only valid if there is a first.
  };

  std::uint32_t new_entry(const Event& event) {
    const std::uint32_t entry = unused_;
    if (entry == kNone) {
      entries_.push_back({event, kNone, false});
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    unused_ = entries_[entry].next;
    entries_[entry] = {event, kNone, false};
    return entry;
  }

  /// Puts an entry before the first one that was created later.
  void insert(Ends& ends, std::uint32_t entry) {
    std::uint32_t* link = &ends.first;
    while (entries_[*link].event.order < entries_[entry].event.order) link = &entries_[*link].next;
    entries_[entry].next = *link;
    *link = entry;
  }

  std::vector<Ends> lines_;
  std::vector<Entry> entries_;
  std::uint32_t unused_ = kNone;  ///< Unused entries, linked by `next`.
};

}  // namespace xylem::predict
