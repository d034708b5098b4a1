#include <algorithm>
#include <utility>

#include "predict/replay/matching_internal.h"
#include "predict/trace/program.h"

namespace xylem::predict {
namespace {

bool matches(const Waiting& a, const Waiting& b) {
  if (a.side == b.side) return false;
  const Waiting& receive = a.side == Side::kReceive ? a : b;
  const Waiting& message = a.side == Side::kReceive ? b : a;
  return (receive.source == message.source || receive.source == kAnySource) &&
         (receive.tag == message.tag ||
          (receive.tag == kAnyTag && message.tag < kFirstCollectiveTag));
}

}  // namespace

std::size_t Channels::home(std::uint32_t receiver, std::uint32_t source, std::uint32_t tag) const {
  // Multiplicative hashing (Knuth, The Art of Computer Programming 6.4): the high bits are mixed
  // best.
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  std::uint64_t hash = (std::uint64_t{receiver} << 32 | source) * kFactor;
  hash = (hash ^ hash >> 29 ^ tag) * kFactor;
  return (hash >> 32) & (slots_.size() - 1);
}

/// The channel's slot, or the empty one in which it would be.
std::size_t Channels::find(std::uint32_t receiver, std::uint32_t source, std::uint32_t tag) const {
  std::size_t at = home(receiver, source, tag);
  while (slots_[at].side != Side::kNone && (slots_[at].receiver != receiver ||
                                            slots_[at].source != source || slots_[at].tag != tag)) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

bool Channels::match_or_wait(const Waiting& it, Waiting& found) {
  const std::size_t at = find(it.receiver, it.source, it.tag);
  Slot& slot = slots_[at];
  if (slot.side == Side::kNone) {
    slot.ready = it.ready;
    slot.receiver = it.receiver & (kMaxRanks - 1);
    slot.side = it.side;
    slot.source = it.source;
    slot.tag = it.tag;
    slot.operation = it.operation;
    if (2 * ++used_ > slots_.size()) grow();
    return false;
  }
  if (slot.side == it.side) {
    append(slot, it);
    return false;
  }
  found.operation = slot.operation;
  found.ready = slot.ready;
  remove_first(at);
  return true;
}

void Channels::append(Slot& slot, const Waiting& it) {
  std::uint32_t entry = unused_;
  if (entry == kNoRest) {
    entry = static_cast<std::uint32_t>(rest_.size());
    rest_.emplace_back();
  } else {
    unused_ = rest_[entry].next;
  }
  rest_[entry] = {it.ready, it.operation, entry};
  if (slot.rest != kNoRest) rest_[entry].next = std::exchange(rest_[slot.rest].next, entry);
  slot.rest = entry;
}

void Channels::remove_first(std::size_t at) {
  Slot& slot = slots_[at];
  if (slot.rest == kNoRest) return clear(at);
  const std::uint32_t entry = rest_[slot.rest].next;
  slot.ready = rest_[entry].ready;
  slot.operation = rest_[entry].operation;
  if (entry == slot.rest) {
    slot.rest = kNoRest;
  } else {
    rest_[slot.rest].next = rest_[entry].next;
  }
  rest_[entry].next = unused_;
  unused_ = entry;
}

/// Moves later channels of the same run of slots into the gap, so that find() still reaches them.
void Channels::clear(std::size_t at) {
  const std::size_t mask = slots_.size() - 1;
  --used_;
  std::size_t gap = at;
  for (std::size_t next = (gap + 1) & mask; slots_[next].side != Side::kNone;
       next = (next + 1) & mask) {
    const Slot& slot = slots_[next];
    const std::size_t from_home = (next - home(slot.receiver, slot.source, slot.tag)) & mask;
    if (from_home >= ((next - gap) & mask)) {
      slots_[gap] = slot;
      gap = next;
    }
  }
  slots_[gap] = {};
}

void Channels::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  for (const Slot& it : old) {
    if (it.side != Side::kNone) slots_[find(it.receiver, it.source, it.tag)] = it;
  }
}

void Channels::append_all(std::vector<Waiting>& to) const {
  for (const Slot& slot : slots_) {
    if (slot.side == Side::kNone) continue;
    Waiting it{slot.side, slot.receiver, slot.source, slot.tag, slot.operation, slot.ready};
    to.push_back(it);
    if (slot.rest == kNoRest) continue;
    std::uint32_t entry = slot.rest;
    do {
      entry = rest_[entry].next;
      it.operation = rest_[entry].operation;
      to.push_back(it);
    } while (entry != slot.rest);
  }
}

Matching::Matching(const std::vector<bool>& wild) {
  if (std::ranges::find(wild, true) == wild.end()) return;
  list_of_.resize(wild.size(), kNoList);
  for (std::size_t rank = 0; rank < wild.size(); ++rank) {
    if (!wild[rank]) continue;
    list_of_[rank] = static_cast<std::uint32_t>(lists_.size());
    lists_.emplace_back();
  }
}

bool Matching::match_in_list(const Waiting& it, Waiting& found) {
  std::vector<Waiting>& list = lists_[list_of_[it.receiver]];
  const auto first =
      std::ranges::find_if(list, [&](const Waiting& other) { return matches(it, other); });
  if (first == list.end()) {
    list.push_back(it);
    return false;
  }
  found = *first;
  list.erase(first);
  return true;
}

std::vector<Waiting> Matching::all() const {
  std::vector<Waiting> all;
  channels_.append_all(all);
  for (const std::vector<Waiting>& list : lists_) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace xylem::predict
