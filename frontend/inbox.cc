#include "frontend/inbox.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "base/log.h"
#include "filters/stream_filter.h"
#include "wire/waves.h"

namespace xylem::frontend {
namespace {

wire::PacketId part_of(const wire::PacketId& id, const IntervalSet::Interval& waves,
                       IntervalSet sources) {
  wire::PacketId part;
  part.stream = id.stream;
  part.wave = waves.first;
  part.wave_end = waves.end;
  part.sources = std::move(sources);
  return part;
}

std::uint64_t first_source(const wire::PacketId& id) {
  return id.sources.empty() ? 0 : id.sources.intervals().front().first;
}

// Even an empty wave costs memory.
std::size_t cost_of(const Wave& wave) { return wave.fields.bytes() + sizeof(Wave); }

// Joins an id to the previous one if its waves follow directly.
void append(std::vector<wire::PacketId>& ids, wire::PacketId id) {
  if (!ids.empty() && ids.back().wave_end == id.wave && ids.back().sources == id.sources) {
    ids.back().wave_end = id.wave_end;
  } else {
    ids.push_back(std::move(id));
  }
}

// Joins ids even if ids of several leaves alternate.
void join_neighbours(std::vector<wire::PacketId>& ids) {
  std::stable_sort(ids.begin(), ids.end(), [](const wire::PacketId& a, const wire::PacketId& b) {
    return std::pair(first_source(a), a.wave) < std::pair(first_source(b), b.wave);
  });
  std::vector<wire::PacketId> joined;
  for (wire::PacketId& id : ids) append(joined, std::move(id));
  ids = std::move(joined);
}

}  // namespace

Inbox::Inbox(wire::StreamSpec spec, std::shared_ptr<const filters::Aggregation> aggregation,
             std::size_t queue_bytes)
    : spec_(std::move(spec)),
      aggregation_(std::move(aggregation)),
      queue_limit_(queue_bytes),
      reducer_(aggregation_, filters::reducer_options(spec_)) {}

void Inbox::take(wire::Packet packet, Nanos now) {
  if (is_overfull()) {
    not_taken_.insert(packet.id.sources);
    return;
  }
  if (!owes_acknowledgement()) waiting_since_ = now;
  std::size_t& waiting = waiting_bytes_[first_source(packet.id)];
  waiting += packet.payload.size();
  max_waiting_bytes_ = std::max(max_waiting_bytes_, waiting);
  std::vector<wire::Fields> waves;
  std::uint64_t* counter = &account_.contributions;
  if (packet.tombstone) {
    counter = &account_.lost;
  } else if (auto read = wire::decode_waves(packet.payload, packet.id.wave_end - packet.id.wave)) {
    waves = *std::move(read);
  } else {
    // It does not help to resend this packet. It counts as received, so that its leaf removes it
    // from the journal.
    log(Level::kError, "a packet cannot be read",
        {{"stream", spec_.name}, {"why", read.error().message}});
    counter = &account_.unreadable;
  }
  const bool as_a_whole = judge(packet.id) != Verdict::kMixed;
  if (as_a_whole && !admit(packet.id, *counter)) return;
  if (as_a_whole && waves.empty()) return;  // A tombstone, possibly for many waves.
  if (waves.empty()) {
    for (const auto& run : runs_alike(packet.id)) {
      admit(part_of(packet.id, run, packet.id.sources), *counter);
    }
    return;
  }
  for (std::uint64_t wave = packet.id.wave; wave < packet.id.wave_end; ++wave) {
    const wire::PacketId id = part_of(packet.id, {wave, wave + 1}, packet.id.sources);
    if (!as_a_whole && !admit(id, *counter)) continue;
    hand_on(id, std::move(waves[wave - packet.id.wave]), now);
  }
  deliver(reducer_.take_ready(now));
}

Inbox::Verdict Inbox::judge(const wire::PacketId& id) const {
  const IntervalSet range = IntervalSet::range(id.wave, id.wave_end);
  bool any_new = false;
  bool any_known = false;
  for (const auto& run : id.sources.intervals()) {
    for (auto leaf = run.first; leaf < run.end; ++leaf) {
      const bool known = leaf < waves_of_.size() && waves_of_[leaf].intersects(range);
      (known ? any_known : any_new) = true;
      // Some of a leaf's waves are known, others not.
      if (known && !waves_of_[leaf].contains(range)) return Verdict::kMixed;
    }
  }
  if (any_known) return any_new ? Verdict::kMixed : Verdict::kKnown;
  return Verdict::kNew;
}

// Counts and acknowledges the contributions. Returns true if they are new.
bool Inbox::admit(const wire::PacketId& id, std::uint64_t& counter) {
  const std::uint64_t contributions = (id.wave_end - id.wave) * id.sources.count();
  switch (judge(id)) {
    case Verdict::kKnown:
      account_.duplicates += contributions;
      // While the inbox is full, the earlier packet already waits for its acknowledgement.
      if (!is_full()) append(waiting_.stored, id);
      return false;
    case Verdict::kMixed:
      append(waiting_.resend, part_of(id, {id.wave, id.wave_end}, new_sources(id)));
      return false;
    case Verdict::kNew:
      break;
  }
  counter += contributions;
  note(id);
  append(waiting_.stored, id);
  return true;
}

// A tombstone may cover too many waves to check each.
std::vector<IntervalSet::Interval> Inbox::runs_alike(const wire::PacketId& id) const {
  const IntervalSet range = IntervalSet::range(id.wave, id.wave_end);
  std::set<std::uint64_t> cuts{id.wave, id.wave_end};
  for (const auto& run : id.sources.intervals()) {
    for (auto leaf = run.first; leaf < run.end && leaf < waves_of_.size(); ++leaf) {
      const IntervalSet known = waves_of_[leaf].intersection(range);
      for (const auto& waves : known.intervals()) cuts.insert({waves.first, waves.end});
    }
  }
  std::vector<IntervalSet::Interval> runs;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    runs.push_back({*cut, *std::next(cut)});
  }
  return runs;
}

IntervalSet Inbox::new_sources(const wire::PacketId& id) const {
  IntervalSet fresh;
  for (const auto& run : id.sources.intervals()) {
    for (auto leaf = run.first; leaf < run.end; ++leaf) {
      if (leaf >= waves_of_.size() || !waves_of_[leaf].contains(id.wave)) fresh.insert(leaf);
    }
  }
  return fresh;
}

void Inbox::note(const wire::PacketId& id) {
  for (const auto& run : id.sources.intervals()) {
    if (run.end > waves_of_.size()) waves_of_.resize(run.end);
    for (auto leaf = run.first; leaf < run.end; ++leaf) {
      waves_of_[leaf].insert(id.wave, id.wave_end);
    }
  }
}

void Inbox::hand_on(const wire::PacketId& id, wire::Fields state, Nanos now) {
  if (aggregation_) {
    reducer_.add(id.wave, id.sources, std::move(state), now);
  } else {
    std::vector<filters::ReducedWave> one;
    one.push_back({id.wave, id.sources, std::move(state)});
    deliver(std::move(one));
  }
}

void Inbox::deliver(std::vector<filters::ReducedWave> waves) {
  for (filters::ReducedWave& wave : waves) {
    Wave done{wave.number, std::move(wave.sources), std::move(wave.state)};
    if (aggregation_) {
      auto result = aggregation_->finish(std::move(done.fields));
      if (!result) {
        log(Level::kError, "a wave cannot be finished",
            {{"stream", spec_.name}, {"wave", done.number}, {"why", result.error().message}});
        account_.unreadable += done.sources.count();
        continue;
      }
      done.fields = *std::move(result);
    }
    queued_bytes_ += cost_of(done);
    queue_.push_back(std::move(done));
  }
}

void Inbox::on_timer(Nanos now) { deliver(reducer_.take_ready(now)); }

std::optional<Nanos> Inbox::acknowledgement_due() const {
  if (!owes_acknowledgement()) return std::nullopt;
  const bool urgent =
      !waiting_.resend.empty() || !not_taken_.empty() || max_waiting_bytes_ >= kShare;
  return urgent ? waiting_since_ : waiting_since_ + kPause;
}

std::optional<Wave> Inbox::receive() {
  if (queue_.empty()) return std::nullopt;
  Wave wave = std::move(queue_.front());
  queue_.pop_front();
  queued_bytes_ -= cost_of(wave);
  return wave;
}

wire::Acknowledgement Inbox::take_acknowledgement() {
  if (is_full()) return {};
  if (!not_taken_.empty()) {
    // Requests all unacknowledged packets of these leaves. `stored` comes before `resend` in the
    // message.
    wire::PacketId all;
    all.stream = spec_.id;
    all.wave_end = std::numeric_limits<std::uint64_t>::max();
    all.sources = std::exchange(not_taken_, {});
    waiting_.resend.push_back(std::move(all));
  }
  waiting_bytes_.clear();
  max_waiting_bytes_ = 0;
  join_neighbours(waiting_.stored);
  return std::exchange(waiting_, {});
}

}  // namespace xylem::frontend
