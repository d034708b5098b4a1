#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "predict/replay/matching_internal.h"
#include "predict/trace/program.h"

namespace xylem::predict {
namespace {

constexpr std::size_t kFirstSlots = 1024;  // A power of two.

bool matches(std::uint32_t a, std::uint32_t b, std::uint32_t any) {
  return a == b || a == any || b == any;
}

}  // namespace

WaitingSet::WaitingSet(std::size_t ranks, bool by_receiver)
    : slots_(kFirstSlots), receivers_(by_receiver ? ranks : 0) {}

std::size_t WaitingSet::home(const Channel& channel) const {
  // Multiplicative hashing (Knuth, The Art of Computer Programming 6.4): the high bits are mixed
  // best.
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  std::uint64_t hash = (std::uint64_t{channel.receiver} << 32 | channel.source) * kFactor;
  hash = (hash ^ hash >> 29 ^ channel.tag) * kFactor;
  return (hash >> 32) & (slots_.size() - 1);
}

std::size_t WaitingSet::find(const Channel& channel) const {
  std::size_t slot = home(channel);
  while (slots_[slot].first != kNone && slots_[slot].channel != channel) {
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return slot;
}

void WaitingSet::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  for (const Slot& it : old) {
    if (it.first != kNone) slots_[find(it.channel)] = it;
  }
}

std::uint32_t WaitingSet::new_entry(const Waiting& waiting) {
  std::uint32_t entry = unused_;
  if (entry == kNone) {
    entry = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    unused_ = entries_[entry].next;
  }
  entries_[entry] = {waiting, kNone, kNone, kNone};
  return entry;
}

void WaitingSet::add(const Waiting& waiting) {
  if (2 * (used_ + 1) > slots_.size()) grow();
  const std::uint32_t entry = new_entry(waiting);
  Slot& slot = slots_[find(waiting.channel)];
  if (slot.first == kNone) {
    slot = {waiting.channel, entry, entry};
    ++used_;
  } else {
    entries_[slot.last].next = entry;
    slot.last = entry;
  }
  if (!receivers_.empty()) join_receiver(entry);
}

void WaitingSet::join_receiver(std::uint32_t entry) {
  Ends& ends = receivers_[entries_[entry].waiting.channel.receiver];
  entries_[entry].earlier = ends.last;
  (ends.last == kNone ? ends.first : entries_[ends.last].later) = entry;
  ends.last = entry;
}

void WaitingSet::leave_receiver(const Entry& entry) {
  Ends& ends = receivers_[entry.waiting.channel.receiver];
  (entry.earlier == kNone ? ends.first : entries_[entry.earlier].later) = entry.later;
  (entry.later == kNone ? ends.last : entries_[entry.later].earlier) = entry.earlier;
}

const Waiting* WaitingSet::first(const Channel& channel) const {
  const Slot& slot = slots_[find(channel)];
  return slot.first == kNone ? nullptr : &entries_[slot.first].waiting;
}

const Waiting* WaitingSet::first_match(const Channel& wanted) const {
  std::uint32_t entry = receivers_[wanted.receiver].first;
  for (; entry != kNone; entry = entries_[entry].later) {
    const Channel& channel = entries_[entry].waiting.channel;
    if (matches(channel.source, wanted.source, kAnySource) &&
        matches(channel.tag, wanted.tag, kAnyTag)) {
      return &entries_[entry].waiting;
    }
  }
  return nullptr;
}

void WaitingSet::remove_first(const Channel& channel) {
  const std::size_t at = find(channel);
  Slot& slot = slots_[at];
  CHECK(slot.first != kNone);
  const std::uint32_t entry = slot.first;
  slot.first = entries_[entry].next;
  if (!receivers_.empty()) leave_receiver(entries_[entry]);
  entries_[entry].next = unused_;
  unused_ = entry;
  if (slot.first == kNone) clear_slot(at);
}

/// Moves later channels of the same run of slots into the gap, so that find() still reaches them.
void WaitingSet::clear_slot(std::size_t slot) {
  const std::size_t mask = slots_.size() - 1;
  --used_;
  std::size_t gap = slot;
  for (std::size_t next = (gap + 1) & mask; slots_[next].first != kNone; next = (next + 1) & mask) {
    const std::size_t distance_from_home = (next - home(slots_[next].channel)) & mask;
    if (distance_from_home >= ((next - gap) & mask)) {
      slots_[gap] = slots_[next];
      gap = next;
    }
  }
  slots_[gap].first = kNone;
}

std::vector<Waiting> WaitingSet::all() const {
  std::vector<Waiting> found;
  for (const Slot& slot : slots_) {
    for (std::uint32_t entry = slot.first; entry != kNone; entry = entries_[entry].next) {
      found.push_back(entries_[entry].waiting);
    }
  }
  std::ranges::sort(found, {}, [](const Waiting& it) {
    return std::tuple(it.channel.source, it.operation, it.channel.receiver);
  });
  return found;
}

Matching::Matching(std::size_t ranks, bool has_wildcards)
    : has_wildcards_(has_wildcards),
      receives_(ranks, false),
      wild_receives_(ranks, has_wildcards),
      messages_(ranks, has_wildcards) {}

bool Matching::is_wild(const Channel& wanted) {
  return wanted.source == kAnySource || wanted.tag == kAnyTag;
}

bool Matching::post(const Channel& wanted, std::uint32_t receive, Waiting& message) {
  const bool wild = is_wild(wanted);
  const Waiting* found = wild ? messages_.first_match(wanted) : messages_.first(wanted);
  if (found) {
    message = *found;
    messages_.remove_first(message.channel);
    return true;
  }
  (wild ? wild_receives_ : receives_).add({wanted, receive, posted_++, 0});
  return false;
}

bool Matching::arrive(const Channel& channel, std::uint32_t send, std::uint64_t ready,
                      Waiting& receive) {
  const Waiting* found = receives_.first(channel);
  WaitingSet* set = &receives_;
  if (has_wildcards_) {
    const Waiting* wild = wild_receives_.first_match(channel);
    if (wild && (!found || wild->order < found->order)) {
      found = wild;
      set = &wild_receives_;
    }
  }
  if (!found) {
    messages_.add({channel, send, 0, ready});
    return false;
  }
  receive = *found;
  set->remove_first(receive.channel);
  return true;
}

}  // namespace xylem::predict
