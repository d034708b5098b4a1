#include "backend/leaf/outbox.h"

#include <algorithm>

namespace xylem::backend {
namespace {

bool is_of_a_tool(StreamId stream) { return raw(stream) >= raw(wire::kFirstToolStream); }

}  // namespace

Outbox::Outbox(OutboxOptions options, Journal& journal) : options_(options), journal_(journal) {}

Outbox::State& Outbox::take_in(const PacketKey& key) {
  State& state = states_[key];
  state.last = journal_.is_last(key);
  if (!state.last) ++others_;
  fresh_.push_back(key);
  return state;
}

void Outbox::add(const PacketKey& key) { take_in(key); }

void Outbox::add_recovered(const PacketKey& key) { take_in(key).alone = true; }

bool Outbox::add_and_send(const wire::Packet& packet, Nanos now) {
  const bool is_first = fresh_.empty() && in_flight_ < options_.max_in_flight && !packet.last;
  State& state = take_in(key_of(packet.id));
  if (!is_first) return false;
  fresh_.pop_back();
  note_sent(state, packet, now);
  return true;
}

void Outbox::note_sent(State& state, const wire::Packet& packet, Nanos now) {
  state.sent = true;
  state.wave_end = packet.id.wave_end;
  state.bytes = packet.payload.size();
  state.pause = options_.first_resend;
  in_flight_ += state.bytes;
  set_due(key_of(packet.id), state, now + state.pause);
}

std::vector<wire::Packet> Outbox::take_due(Nanos now) {
  std::vector<wire::Packet> packets;
  while (!due_.empty() && due_.begin()->first <= now) {
    const PacketKey key = due_.begin()->second;
    State& state = states_.at(key);
    packets.push_back(journal_.read(key));
    packets.back().alone = true;
    state.alone = true;
    state.pause = std::min(2 * state.pause, options_.longest_resend);
    set_due(key, state, now + state.pause);
  }
  std::vector<PacketKey> held;
  // One packet may always be in flight, whatever its size.
  while (!fresh_.empty() && (in_flight_ == 0 || in_flight_ < options_.max_in_flight)) {
    const PacketKey key = fresh_.front();
    fresh_.pop_front();
    const auto it = states_.find(key);
    if (it == states_.end() || it->second.sent) continue;
    State& state = it->second;
    if (state.last && others_ != 0) {
      held.push_back(key);
      continue;
    }
    packets.push_back(journal_.read(key));
    packets.back().alone = state.alone;
    note_sent(state, packets.back(), now);
  }
  fresh_.insert(fresh_.end(), held.begin(), held.end());
  return packets;
}

Nanos Outbox::next_due() const {
  return due_.empty() ? 0 : std::max<Nanos>(1, due_.begin()->first);
}

void Outbox::acknowledge(const wire::PacketId& id) {
  if (!is_of_a_tool(id.stream)) {
    if (const auto it = states_.find(key_of(id)); it != states_.end()) forget(it);
    return;
  }
  for (const auto it : sent_overlapping(id)) {
    State& state = it->second;
    const std::uint64_t first = it->first.wave;
    state.acknowledged.insert(std::max(first, id.wave), std::min(state.wave_end, id.wave_end));
    if (state.acknowledged == IntervalSet::range(first, state.wave_end)) forget(it);
  }
}

void Outbox::forget(States::iterator it) {
  const PacketKey key = it->first;
  if (it->second.sent) {
    due_.erase({it->second.due, key});
    in_flight_ -= it->second.bytes;
  }
  if (!it->second.last) --others_;
  states_.erase(it);
  journal_.acknowledge(key);
}

// Packets of a stream do not overlap. The first packet that may contain the wave is the last one
// that begins at or before it.
std::vector<Outbox::States::iterator> Outbox::sent_overlapping(const wire::PacketId& id) {
  std::vector<States::iterator> found;
  auto it = states_.upper_bound(key_of(id));
  if (it != states_.begin()) --it;
  for (; it != states_.end(); ++it) {
    const auto& [key, state] = *it;
    if (key.stream > id.stream || (key.stream == id.stream && key.wave >= id.wave_end)) break;
    const bool overlaps =
        key.stream == id.stream && key.lane == id.lane && state.sent && state.wave_end > id.wave;
    if (overlaps) found.push_back(it);
  }
  return found;
}

void Outbox::resend(const wire::PacketId& id) {
  if (id.stream == wire::kEveryStream) return resend_everything(0);
  if (is_of_a_tool(id.stream)) {
    for (const auto it : sent_overlapping(id)) resend(it);
  } else if (const auto it = states_.find(key_of(id)); it != states_.end() && it->second.sent) {
    resend(it);
  }
}

void Outbox::resend(States::iterator it) {
  it->second.pause = options_.first_resend / 2;  // The time is doubled when the packet is sent.
  set_due(it->first, it->second, 0);
}

void Outbox::resend_everything(Nanos when) {
  for (auto& [key, state] : states_) {
    if (!state.sent || state.due <= when) continue;
    state.pause = options_.first_resend / 2;
    set_due(key, state, when);
  }
}

void Outbox::set_due(const PacketKey& key, State& state, Nanos when) {
  due_.erase({state.due, key});
  state.due = when;
  due_.insert({when, key});
}

}  // namespace xylem::backend
