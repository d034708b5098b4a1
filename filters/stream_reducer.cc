#include "filters/stream_reducer.h"

#include <algorithm>
#include <limits>
#include <span>

#include "wire/message.h"
#include "wire/waves.h"

namespace xylem::filters {
namespace {

constexpr std::size_t kMaxGaps = 1024;

}  // namespace

StreamReducer::StreamReducer(std::shared_ptr<const Aggregation> aggregation, ReducerOptions options)
    : aggregation_(std::move(aggregation)), options_(options) {}

Nanos StreamReducer::patience() const {
  switch (options_.synchronisation) {
    case wire::Synchronisation::kWaitForAll:
      return options_.longest_wait;
    case wire::Synchronisation::kTimeOut:
      return options_.time_out;
    case wire::Synchronisation::kAsItComes:
      break;
  }
  return 0;
}

void StreamReducer::set_expected(const IntervalSet& leaves) {
  if (leaves == expected_) return;
  expected_ = leaves;
  for (auto it = open_.begin(); it != open_.end();) {
    const auto wave = it++;
    if (is_complete(wave->second)) give_out(wave);
  }
}

bool StreamReducer::add(const wire::Packet& packet, Nanos now, bool is_root) {
  if (packet.tombstone || (packet.alone && !is_root)) return false;
  auto waves = wire::decode_waves(packet.payload, packet.id.wave_end - packet.id.wave);
  if (!waves) return false;
  std::uint64_t number = packet.id.wave;
  for (wire::Fields& state : *waves) add(number++, packet.id.sources, std::move(state), now);
  return true;
}

void StreamReducer::add(std::uint64_t wave, const IntervalSet& sources, wire::Fields state,
                        Nanos now) {
  if (given_out_.contains(wave)) {
    ready_.push_back({wave, sources, std::move(state)});
    return;
  }
  const auto [it, is_first] = open_.try_emplace(wave);
  Open& open = it->second;
  if (is_first) {
    open.deadline = now + patience();
    deadlines_.emplace_back(open.deadline, wave);
    open.sources = sources;
    open.state = std::move(state);
  } else if (const Merged merged = merge(open, sources, state); merged == Merged::kNotMergeable) {
    open.separate.insert(sources);
    ready_.push_back({wave, sources, std::move(state)});
  } else if (merged == Merged::kTooLarge) {
    // Release the waiting part, and begin the next part with this contribution. If this
    // contribution were released instead, each later one would be tried with the full part.
    open.separate.insert(open.sources);
    ready_.push_back(
        {wave, std::exchange(open.sources, sources), std::exchange(open.state, std::move(state))});
  }
  const std::size_t before = std::exchange(open.bytes, open.state.bytes());
  waiting_bytes_ += open.bytes - before;
  if (is_complete(open)) give_out(it);
}

StreamReducer::Merged StreamReducer::merge(Open& open, const IntervalSet& sources,
                                           const wire::Fields& state) const {
  if (open.sources.intersects(sources)) return Merged::kNotMergeable;
  wire::Fields merged = open.state;
  if (!aggregation_->merge(merged, state)) return Merged::kNotMergeable;
  const std::size_t intervals = open.sources.intervals().size() + sources.intervals().size();
  if (wire::kWavesHeadBytes + merged.bytes() > wire::max_payload_bytes(intervals)) {
    return Merged::kTooLarge;
  }
  open.state = std::move(merged);
  open.sources.insert(sources);
  return Merged::kYes;
}

bool StreamReducer::is_complete(const Open& open) const {
  if (open.separate.empty()) return open.sources == expected_ || open.sources.contains(expected_);
  IntervalSet heard = open.sources;
  heard.insert(open.separate);
  return heard.contains(expected_);
}

std::vector<ReducedWave> StreamReducer::take_ready(Nanos now) {
  while (!deadlines_.empty()) {
    const auto& [deadline, wave] = deadlines_.front();
    const auto it = open_.find(wave);
    if (it != open_.end()) {
      if (deadline > now && waiting_bytes_ <= options_.max_waiting_bytes) break;
      give_out(it);
    }
    deadlines_.pop_front();
  }
  std::vector<ReducedWave> ready = std::exchange(ready_, {});
  std::stable_sort(ready.begin(), ready.end(),
                   [](const ReducedWave& a, const ReducedWave& b) { return a.number < b.number; });
  return ready;
}

Nanos StreamReducer::next_deadline() const {
  for (const auto& [deadline, wave] : deadlines_) {
    if (open_.contains(wave)) return deadline;
  }
  return std::numeric_limits<Nanos>::max();
}

std::vector<ReducedWave> StreamReducer::flush() {
  while (!open_.empty()) give_out(open_.begin());
  return take_ready(0);
}

void StreamReducer::give_out(std::map<std::uint64_t, Open>::iterator wave) {
  waiting_bytes_ -= wave->second.bytes;
  ready_.push_back({wave->first, std::move(wave->second.sources), std::move(wave->second.state)});
  given_out_.insert(wave->first);
  // If there are gaps in the wave numbers, the set would grow for ever. So very old waves count as
  // released.
  if (given_out_.intervals().size() > kMaxGaps) {
    given_out_.insert(0, given_out_.intervals()[kMaxGaps / 2].first);
  }
  open_.erase(wave);
}

std::vector<wire::Packet> pack(StreamId stream, std::vector<ReducedWave> waves,
                               std::size_t max_waves, std::size_t max_bytes) {
  std::vector<wire::Packet> packets;
  std::vector<wire::Fields> run;
  for (std::size_t first = 0; first < waves.size();) {
    run.clear();
    const std::size_t largest = wire::max_payload_bytes(waves[first].sources.intervals().size());
    std::size_t next = first;
    std::size_t bytes = waves[next].state.bytes();
    std::size_t with_next = bytes;
    do {
      bytes = with_next;
      run.push_back(std::move(waves[next].state));
      ++next;
      if (next == waves.size()) break;
      with_next = bytes + waves[next].state.bytes();
    } while (waves[next].number == waves[first].number + run.size() &&
             waves[next].sources == waves[first].sources && run.size() < max_waves &&
             bytes < max_bytes && wire::kWavesHeadBytes + with_next <= largest);
    wire::PacketId id;
    id.stream = stream;
    id.wave = waves[first].number;
    id.wave_end = id.wave + run.size();
    id.sources = std::move(waves[first].sources);
    packets.emplace_back(std::move(id), wire::encode_waves(run));
    first = next;
  }
  return packets;
}

}  // namespace xylem::filters
