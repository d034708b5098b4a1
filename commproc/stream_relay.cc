#include "commproc/stream_relay.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "filters/stream_filter.h"

namespace xylem::commproc {

std::vector<wire::StreamRefused> StreamRelay::open(const std::vector<wire::StreamSpec>& streams) {
  for (auto it = streams_.begin(); it != streams_.end();) {
    const bool is_open = std::any_of(streams.begin(), streams.end(),
                                     [&](const auto& spec) { return spec.id == it->first; });
    if (is_open) {
      ++it;
      continue;
    }
    if (it->second.reducer) {
      auto rest = filters::pack(it->first, it->second.reducer->flush());
      std::move(rest.begin(), rest.end(), std::back_inserter(ready_));
    }
    recent_.forget(it->first);
    it = streams_.erase(it);
  }
  std::vector<wire::StreamRefused> refused;
  for (const wire::StreamSpec& spec : streams) {
    if (streams_.contains(spec.id)) continue;
    Stream& stream = streams_.emplace(spec.id, spec).first->second;
    auto aggregation = filters::aggregation_of(spec);
    // If two plugins hang, trying both would take so long that this node would count as lost.
    const bool may_try = aggregation || spec.narrowing_plugin.empty();
    stream.narrowing = may_try ? filters::narrowing_of(spec)
                               : filters::NodeNarrowing(unexpected(aggregation.error()));
    if (!aggregation) {
      refused.push_back(refusal(spec.id, aggregation.error().message));
    } else if (*aggregation != nullptr) {
      stream.reducer.emplace(*std::move(aggregation), filters::reducer_options(spec));
      expect(stream);
    }
    if (!stream.narrowing) {
      if (may_try) refused.push_back(refusal(spec.id, stream.narrowing.error().message));
      stream.failure_is_told = true;
    }
  }
  return refused;
}

wire::StreamRefused StreamRelay::refusal(StreamId stream, std::string reason) const {
  return {stream, options_.node, options_.host, std::move(reason)};
}

// Most leaves of a run are agents, and agents send on none of its streams. So a wave waits only for
// leaves that have sent before.
void StreamRelay::expect(Stream& stream) const {
  if (raw(stream.spec.id) >= raw(wire::kFirstStoredStream)) {
    return stream.reducer->set_expected(expected_.intersection(stream.senders));
  }
  const IntervalSet& members = stream.spec.leaves;
  stream.reducer->set_expected(members.empty() ? expected_ : expected_.intersection(members));
}

void StreamRelay::set_expected(const IntervalSet& leaves) {
  if (leaves == expected_) return;
  expected_ = leaves;
  for (auto& [id, stream] : streams_) {
    if (stream.reducer) expect(stream);
  }
}

void StreamRelay::note_senders(Stream& stream, const IntervalSet& sources) const {
  if (!stream.reducer || stream.senders.contains(sources)) return;
  stream.senders.insert(sources);
  expect(stream);
}

void StreamRelay::add(wire::Packet packet, Nanos now) {
  const auto it = streams_.find(packet.id.stream);
  if (it != streams_.end()) note_senders(it->second, packet.id.sources);
  const bool taken =
      it != streams_.end() && it->second.reducer && it->second.reducer->add(packet, now);
  if (!taken) ready_.push_back(std::move(packet));
}

std::vector<wire::Packet> StreamRelay::take_ready(Nanos now) {
  for (auto& [id, stream] : streams_) {
    if (!stream.reducer) continue;
    auto packets = filters::pack(id, stream.reducer->take_ready(now));
    std::move(packets.begin(), packets.end(), std::back_inserter(ready_));
  }
  return std::exchange(ready_, {});
}

Nanos StreamRelay::next_deadline() const {
  Nanos next = std::numeric_limits<Nanos>::max();
  for (const auto& [id, stream] : streams_) {
    if (stream.reducer) next = std::min(next, stream.reducer->next_deadline());
  }
  return next;
}

std::vector<wire::Packet> StreamRelay::flush() {
  for (auto& [id, stream] : streams_) {
    if (!stream.reducer) continue;
    auto packets = filters::pack(id, stream.reducer->flush());
    std::move(packets.begin(), packets.end(), std::back_inserter(ready_));
  }
  return std::exchange(ready_, {});
}

bool StreamRelay::keep(const wire::Multicast& multicast) {
  return !streams_.contains(multicast.stream) || recent_.keep(multicast);
}

std::optional<filters::MulticastCut> StreamRelay::cut(const wire::Multicast& whole) const {
  const auto it = streams_.find(whole.stream);
  if (it == streams_.end()) return std::nullopt;
  return filters::MulticastCut(it->second.narrowing, whole);
}

std::optional<wire::StreamRefused> StreamRelay::narrowing_failed(StreamId stream,
                                                                 const Error& why) {
  const auto it = streams_.find(stream);
  if (it == streams_.end() || std::exchange(it->second.failure_is_told, true)) return std::nullopt;
  return refusal(stream, why.message);
}

}  // namespace xylem::commproc
