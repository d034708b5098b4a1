#include "filters/wave_merger.h"

#include <algorithm>
#include <iterator>
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
  // An overlap means that a contribution was sent twice. Only the root decides which one counts.
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

// `last` applies to all sources of a packet. So sources that send more and sources that do not need
// separate packets.
void WaveMerger::give_out(Wave wave) {
  for (const wire::Packet& packet : wave.packets) waiting_bytes_ -= packet.payload.size();
  const auto first_last =
      std::stable_partition(wave.packets.begin(), wave.packets.end(),
                            [](const wire::Packet& packet) { return !packet.last; });
  std::vector<wire::Packet> ended(std::make_move_iterator(first_last),
                                  std::make_move_iterator(wave.packets.end()));
  wave.packets.erase(first_last, wave.packets.end());
  give_out_merged(std::move(wave.packets));
  give_out_merged(std::move(ended));
}

void WaveMerger::give_out_merged(std::vector<wire::Packet> packets) {
  wire::Bytes merged;
  if (packets.size() < 2 || !merge_(packets, merged)) {
    for (wire::Packet& packet : packets) ready_.push_back(std::move(packet));
    return;
  }
  wire::Packet packet;
  packet.id = packets.front().id;
  packet.last = packets.front().last;
  for (const wire::Packet& part : packets) packet.id.sources.insert(part.id.sources);
  packet.payload = std::move(merged);
  ready_.push_back(std::move(packet));
}

}  // namespace xylem::filters
