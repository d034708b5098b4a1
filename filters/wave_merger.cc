#include "filters/wave_merger.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace xylem::filters {

WaveMerger::WaveMerger(MergeFunction merge, WaveMergerOptions options)
    : merge_(std::move(merge)), options_(options) {}

void WaveMerger::set_expected(const IntervalSet& leaves) { expected_ = leaves; }

void WaveMerger::add(wire::Packet packet, Nanos now) {
  const auto known = waves_.find(packet.id.wave);
  const bool overlaps =
      known != waves_.end() && known->second.sources.intersects(packet.id.sources);
  // An overlap means that something was sent twice; only the root decides which of them counts.
  const bool goes_by_itself = packet.alone || overlaps;
  if (packet.tombstone || (goes_by_itself && !options_.merge_overlaps)) {
    ready_.push_back(std::move(packet));
    return;
  }
  Wave& wave = waves_[packet.id.wave];
  if (wave.packets.empty()) wave.deadline = now + options_.time_out;
  wave.sources.insert(packet.id.sources);
  waiting_bytes_ += packet.payload.size();
  wave.packets.push_back(std::move(packet));
}

std::vector<wire::Packet> WaveMerger::take_ready(Nanos now) {
  for (auto it = waves_.begin(); it != waves_.end();) {
    const Wave& wave = it->second;
    const bool due = wave.deadline <= now || waiting_bytes_ > options_.max_waiting_bytes ||
                     wave.sources.contains(expected_);
    if (due) {
      give_out(std::move(it->second));
      it = waves_.erase(it);
    } else {
      ++it;
    }
  }
  return std::exchange(ready_, {});
}

Nanos WaveMerger::next_deadline() const {
  Nanos next = std::numeric_limits<Nanos>::max();
  for (const auto& [number, wave] : waves_) next = std::min(next, wave.deadline);
  return next;
}

std::vector<wire::Packet> WaveMerger::flush() {
  for (auto& [number, wave] : waves_) give_out(std::move(wave));
  waves_.clear();
  return std::exchange(ready_, {});
}

void WaveMerger::give_out(Wave wave) {
  for (const wire::Packet& packet : wave.packets) waiting_bytes_ -= packet.payload.size();
  wire::Bytes merged;
  if (wave.packets.size() < 2 || !merge_(wave.packets, merged)) {
    for (wire::Packet& packet : wave.packets) ready_.push_back(std::move(packet));
    return;
  }
  wire::Packet packet;
  packet.id = wave.packets.front().id;
  packet.id.sources = std::move(wave.sources);
  packet.last = std::all_of(wave.packets.begin(), wave.packets.end(),
                            [](const wire::Packet& part) { return part.last; });
  packet.payload = std::move(merged);
  ready_.push_back(std::move(packet));
}

}  // namespace xylem::filters
