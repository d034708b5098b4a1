#include <charconv>
#include <limits>
#include <utility>

#include "storage/write/intake_internal.h"

namespace xylem::storage {
namespace {

// Maximum number of leaves to which a front end gives ids.
constexpr std::uint64_t kMaxLeaves = 1u << 20;

Result<void> refuse(const wire::PacketId& id, const std::string& why) {
  return unexpected(Code::kInvalidArgument, "packet of stream " + std::to_string(raw(id.stream)) +
                                                ", wave " + std::to_string(id.wave) + ": " + why +
                                                "; it is not stored");
}

/// "" when every row is of a source.
std::string stranger_among(const wire::ProfileWindow& window, const IntervalSet& sources) {
  LeafId last = wire::kNoLeaf;
  std::string stranger;
  const auto look = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (row.leaf == last) continue;
      if (!sources.contains(raw(row.leaf))) {
        stranger = "it is about leaf " + std::to_string(raw(row.leaf)) + ", its sources are " +
                   sources.to_string();
        return;
      }
      last = row.leaf;
    }
  };
  look(window.rows);
  look(window.matrix);
  look(window.accounts);
  look(window.waits);
  look(window.under_way);
  look(window.earlier);
  return stranger;
}

/// "" when every row is of a source.
std::string stranger_among(const wire::Tombstone& tombstone, const IntervalSet& sources) {
  std::string stranger;
  const auto look = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (sources.contains(raw(row.leaf))) continue;
      stranger = "it is about leaf " + std::to_string(raw(row.leaf)) + ", its sources are " +
                 sources.to_string();
      return;
    }
  };
  look(tombstone.lanes);
  look(tombstone.accounts);
  return stranger;
}

template <typename T>
Content content_or_defect(Result<T> decoded, const char* what) {
  if (decoded) return std::move(*decoded);
  return Defect{std::string(what) + " cannot be read: " + decoded.error().message};
}

Content open_window(const wire::Packet& packet) {
  if (packet.payload.empty()) return wire::ProfileWindow{};
  Content content = content_or_defect(wire::decode_profile_window(packet.payload), "the window");
  if (const auto* window = std::get_if<wire::ProfileWindow>(&content)) {
    std::string stranger = stranger_among(*window, packet.id.sources);
    if (!stranger.empty()) return Defect{"the window cannot be right: " + stranger};
  }
  return content;
}

Content open_tombstone(const wire::Packet& packet) {
  Content content = content_or_defect(wire::decode_tombstone(packet.payload), "the tombstone");
  if (const auto* tombstone = std::get_if<wire::Tombstone>(&content)) {
    std::string stranger = stranger_among(*tombstone, packet.id.sources);
    if (!stranger.empty()) return Defect{"the tombstone cannot be right: " + stranger};
  }
  return content;
}

Content open_chunk(const wire::Packet& packet) {
  Content content = content_or_defect(wire::read_chunk_summary(packet.payload), "the chunk");
  if (const auto* summary = std::get_if<wire::ChunkSummary>(&content)) {
    const std::uint64_t expected = packet.id.wave_end - packet.id.wave;
    if (summary->events != expected) {
      return Defect{"the chunk holds " + std::to_string(summary->events) + " events, its range " +
                    std::to_string(expected)};
    }
  }
  return content;
}

Content open_sample(const wire::Packet& packet) {
  Content content = content_or_defect(wire::decode_series(packet.payload), "the sample");
  if (const auto* sample = std::get_if<wire::SeriesSample>(&content)) {
    const bool is_one = packet.id.wave_end == packet.id.wave + 1;
    if (!is_one || sample->captured < packet.id.wave_end) {
      return Defect{"the sample cannot be right: its number is " + std::to_string(packet.id.wave) +
                    ", its service has taken " + std::to_string(sample->captured)};
    }
  }
  return content;
}

}  // namespace

Result<void> check_identity(const wire::PacketId& id) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool known = id.stream == wire::kRegistrationStream || id.stream == wire::kWindowStream ||
                     id.stream == wire::kChunkStream || id.stream == wire::kSeriesStream ||
                     id.stream == wire::kStreamAccountStream || is_stored_stream(id.stream);
  if (!known) return refuse(id, "the store does not know this stream");
  if (id.sources.empty()) return refuse(id, "it has no sources");
  if (id.sources.intervals().back().end > raw(wire::kNoLeaf)) {
    return refuse(id, "its sources " + id.sources.to_string() + " are not leaves");
  }
  if (id.wave >= id.wave_end || id.wave_end > kMax) return refuse(id, "its range is impossible");
  if (id.stream == wire::kSeriesStream) {
    if (id.sources.count() != 1) return refuse(id, "a sample is of one leaf only");
    const bool is_service = id.lane != kLeafLane && raw(id.lane) <= wire::kMaxServices;
    return is_service ? Result<void>() : refuse(id, "a sample is of one service, this names none");
  }
  if (id.stream == wire::kStreamAccountStream && id.sources.count() != 1) {
    return refuse(id, "an account is of one leaf only");
  }
  if (is_stored_stream(id.stream)) {
    if (id.lane != kLeafLane) return refuse(id, "a wave is of whole leaves, this one of a process");
    if (id.sources.count() > kMaxLeaves) return refuse(id, "it has too many sources");
  }
  if (id.stream != wire::kChunkStream) return {};
  if (id.sources.count() != 1) return refuse(id, "a chunk is of one leaf only");
  if (id.lane == kLeafLane) return refuse(id, "a chunk is of one process, this one names none");
  return {};
}

Content open_payload(const wire::Packet& packet) {
  if (packet.tombstone) return open_tombstone(packet);
  if (packet.id.stream == wire::kWindowStream) return open_window(packet);
  if (packet.id.stream == wire::kChunkStream) return open_chunk(packet);
  if (packet.id.stream == wire::kSeriesStream) return open_sample(packet);
  if (packet.id.sources.count() != 1) {
    return Defect{"a registration is of one leaf, this one of " + packet.id.sources.to_string()};
  }
  return content_or_defect(wire::decode_registration(packet.payload), "the registration");
}

PutOutcome judge_sources(const IntervalSet& sources, const IntervalSet& known) {
  PutOutcome outcome;
  if (!known.intersects(sources)) return outcome;
  outcome.missing = sources.difference(known);
  outcome.kind =
      outcome.missing.empty() ? PutOutcome::Kind::kDuplicate : PutOutcome::Kind::kPartlyKnown;
  return outcome;
}

PutOutcome judge_range(const wire::PacketId& id, const IntervalSet& known) {
  PutOutcome outcome;
  const IntervalSet range = IntervalSet::range(id.wave, id.wave_end);
  if (!known.intersects(range)) return outcome;
  outcome.kind = PutOutcome::Kind::kDuplicate;
  if (known.contains(range)) return outcome;
  outcome.kind = PutOutcome::Kind::kPartlyKnown;
  outcome.missing = id.sources;
  return outcome;
}

Result<IntervalSet> parse_intervals(const std::string& text) {
  IntervalSet set;
  const char* at = text.data();
  const char* const stop = at + text.size();
  const auto number = [&](std::uint64_t& value) {
    const auto [next, error] = std::from_chars(at, stop, value);
    at = next;
    return error == std::errc() && value < std::numeric_limits<std::uint64_t>::max();
  };
  while (at != stop) {
    std::uint64_t first = 0;
    bool good = number(first);
    std::uint64_t last = first;
    if (good && at != stop && *at == '-') {
      ++at;
      good = number(last) && last >= first;
    }
    if (good && at != stop) good = *at++ == ',' && at != stop;
    if (!good) return unexpected(Code::kCorrupt, "'" + text + "' is not a set of numbers");
    set.insert(first, last + 1);
  }
  return set;
}

}  // namespace xylem::storage
