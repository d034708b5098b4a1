#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "storage/write/stream_intake_internal.h"
#include "wire/waves.h"

namespace xylem::storage {
namespace {

constexpr const char* kHexDigits = "0123456789abcdef";

// Length of the UTF-8 character that begins there; 0: none does.
std::size_t character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() - at < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const bool is_overlong =
      (lead == 0xe0 && byte(at + 1) < 0xa0) || (lead == 0xf0 && byte(at + 1) < 0x90);
  const bool is_none =
      (lead == 0xed && byte(at + 1) > 0x9f) || (lead == 0xf4 && byte(at + 1) > 0x8f);
  return is_overlong || is_none ? 0 : length;
}

void append_text(std::string& json, std::string_view text) {
  bool is_utf8 = true;
  for (std::size_t at = 0; at < text.size() && is_utf8;) {
    const std::size_t length = character_at(text, at);
    is_utf8 = length != 0;
    at += length;
  }
  json += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !is_utf8)) {
      json += std::string("\\u00") + kHexDigits[byte >> 4] + kHexDigits[byte & 15];
    } else {
      if (c == '"' || c == '\\') json += '\\';
      json += c;
    }
  }
  json += '"';
}

template <typename Number>
void append_number(std::string& json, Number number) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (std::isnan(number)) {
      json += "null";
      return;
    }
    if (std::isinf(number)) {
      json += number > 0 ? "9e999" : "-9e999";
      return;
    }
  }
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  json.append(digits.data(), end);
}

void append_value(std::string& json, const wire::FieldValue& value) {
  std::visit(
      [&json](const auto& it) {
        using T = std::decay_t<decltype(it)>;
        if constexpr (std::is_arithmetic_v<T>) {
          append_number(json, it);
        } else if constexpr (std::is_same_v<T, std::string>) {
          append_text(json, it);
        } else if constexpr (std::is_same_v<T, std::vector<std::byte>>) {
          json += '"';
          for (const std::byte byte : it) {
            json += kHexDigits[std::to_integer<unsigned>(byte) >> 4];
            json += kHexDigits[std::to_integer<unsigned>(byte) & 15];
          }
          json += '"';
        } else {
          json += '[';
          for (std::size_t i = 0; i < it.size(); ++i) {
            if (i > 0) json += ',';
            if constexpr (std::is_same_v<T, std::vector<std::string>>) {
              append_text(json, it[i]);
            } else {
              append_number(json, it[i]);
            }
          }
          json += ']';
        }
      },
      value);
}

wire::PacketId part_of(const wire::PacketId& id, std::uint64_t wave, IntervalSet sources) {
  wire::PacketId part;
  part.stream = id.stream;
  part.wave = wave;
  part.wave_end = wave + 1;
  part.sources = std::move(sources);
  return part;
}

}  // namespace

std::string to_json(const wire::Fields& fields) {
  std::string json = "{";
  for (const auto& [number, value] : fields) {
    if (json.size() > 1) json += ',';
    json += '"' + std::to_string(number) + "\":";
    append_value(json, value);
  }
  return json += '}';
}

StreamIntake::StreamIntake(Connection& connection, std::shared_ptr<const StreamFold> fold)
    : connection_(connection),
      fold_(std::move(fold)),
      seen_(connection, "stream_seen", "contributor"),
      stream_(connection, "INSERT INTO stream VALUES(?,?,?,?)"),
      find_(connection, "SELECT id FROM stream_leaf WHERE stream = ? AND leaf = ?"),
      new_(connection, "INSERT INTO stream_leaf(stream, leaf) VALUES(?,?) RETURNING id"),
      stored_(connection, "UPDATE stream_leaf SET stored = stored + ?2 WHERE id = ?1"),
      lost_(connection, "UPDATE stream_leaf SET lost = lost + ?2, reason = ?3 WHERE id = ?1"),
      sent_(connection,
            "UPDATE stream_leaf SET sent = max(sent, ?2), ended = max(ended, ?3) WHERE id = ?1"),
      first_part_(connection,
                  "SELECT id, sources, state FROM stream_part WHERE stream = ? AND wave = ?"
                  " ORDER BY id LIMIT 1"),
      new_part_(connection,
                "INSERT INTO stream_part(stream, wave, at_ns, sources, leaves, state, fields)"
                " VALUES(?,?,?,?,?,?,?)"),
      merged_(connection,
              "UPDATE stream_part SET sources = ?2, leaves = ?3, state = ?4, fields = ?5"
              " WHERE id = ?1") {}

void StreamIntake::begin(const std::vector<StreamFacts>& streams) {
  for (const StreamFacts& stream : streams) {
    stream_.run(stream.id, stream.name, stream.aggregation, stream.synchronisation);
  }
}

PutOutcome StreamIntake::put(const wire::Packet& packet) {
  std::vector<Contributor> contributors = contributors_of(packet.id);
  if (packet.tombstone) {
    const auto tombstone = wire::decode_tombstone(packet.payload);
    return put_lost(packet.id, tombstone ? tombstone->reason : "given up", contributors);
  }
  const auto waves = wire::decode_waves(packet.payload, packet.id.wave_end - packet.id.wave);
  if (waves) return put_each(packet.id, *waves, contributors);
  return put_lost(packet.id, "it cannot be read: " + waves.error().message, contributors);
}

std::int64_t StreamIntake::contributor_of(StreamId stream, std::uint64_t leaf) {
  for (Statement* statement : {&find_, &new_}) {
    if (!statement->first(stream, leaf)) continue;
    const std::int64_t id = statement->integer(0);
    statement->reset();
    return id;
  }
  return 0;  // The connection has failed.
}

std::vector<StreamIntake::Contributor> StreamIntake::contributors_of(const wire::PacketId& id) {
  std::vector<Contributor> contributors;
  for (const auto& run : id.sources.intervals()) {
    for (auto leaf = run.first; leaf < run.end && connection_.ok(); ++leaf) {
      Contributor& it = contributors.emplace_back();
      it.id = contributor_of(id.stream, leaf);
      it.leaf = leaf;
      it.known = seen_.near(it.id, id.wave, id.wave_end);
    }
  }
  return contributors;
}

// Usually all waves are new or all are known. Otherwise each wave is checked separately.
PutOutcome StreamIntake::put_each(const wire::PacketId& id, const std::vector<wire::Fields>& waves,
                                  std::vector<Contributor>& contributors) {
  const IntervalSet range = IntervalSet::range(id.wave, id.wave_end);
  PutOutcome outcome;
  const bool all_new = std::ranges::none_of(
      contributors, [&](const Contributor& it) { return it.known.intersects(range); });
  if (all_new) {
    for (Contributor& it : contributors) note(it, id.wave, id.wave_end);
    for (Contributor& it : contributors) stored_.run(it.id, waves.size());
    for (std::size_t i = 0; i < waves.size(); ++i) {
      store_wave(id.stream, id.wave + i, id.sources, waves[i]);
    }
    return outcome;
  }
  const bool all_known = std::ranges::all_of(
      contributors, [&](const Contributor& it) { return it.known.contains(range); });
  if (all_known) {
    outcome.kind = PutOutcome::Kind::kDuplicate;
    return outcome;
  }
  for (std::uint64_t wave = id.wave; wave < id.wave_end; ++wave) {
    IntervalSet known;
    for (const Contributor& it : contributors) {
      if (it.known.contains(wave)) known.insert(it.leaf);
    }
    PutOutcome of_wave = judge_sources(id.sources, known);
    if (of_wave.kind == PutOutcome::Kind::kPartlyKnown) {
      outcome.again.push_back(part_of(id, wave, std::move(of_wave.missing)));
      continue;
    }
    outcome.settled.push_back(part_of(id, wave, id.sources));
    if (of_wave.kind != PutOutcome::Kind::kStored) continue;
    for (Contributor& it : contributors) {
      it.known = seen_.near(it.id, wave, wave + 1);
      note(it, wave, wave + 1);
      it.known = seen_.near(it.id, id.wave, id.wave_end);
      stored_.run(it.id, 1);
    }
    store_wave(id.stream, wave, id.sources, waves[wave - id.wave]);
  }
  return outcome;
}

// A tombstone has one leaf. Its known waves stay as they are; all other waves count as lost.
PutOutcome StreamIntake::put_lost(const wire::PacketId& id, const std::string& reason,
                                  std::vector<Contributor>& contributors) {
  const IntervalSet range = IntervalSet::range(id.wave, id.wave_end);
  bool any_new = false;
  for (Contributor& it : contributors) {
    const IntervalSet missing = range.difference(it.known);
    std::uint64_t waves = 0;
    for (const auto& run : missing.intervals()) {
      it.known = seen_.near(it.id, run.first, run.end);
      note(it, run.first, run.end);
      waves += run.end - run.first;
    }
    if (waves == 0) continue;
    any_new = true;
    lost_.run(it.id, waves, reason);
  }
  PutOutcome outcome;
  if (!any_new) outcome.kind = PutOutcome::Kind::kDuplicate;
  return outcome;
}

// `known` has the ranges near these waves.
void StreamIntake::note(Contributor& contributor, std::uint64_t first, std::uint64_t end) {
  seen_.insert(contributor.id, first, end, contributor.known);
}

void StreamIntake::store_wave(StreamId stream, std::uint64_t wave, const IntervalSet& sources,
                              const wire::Fields& state) {
  const bool merges = fold_ && fold_->merges(stream);
  if (merges && merge_into_first(stream, wave, sources, state)) return;
  std::optional<wire::Fields> shown = state;
  if (merges) shown = fold_->finish(stream, state);
  std::optional<std::string> json;
  if (shown) json = to_json(*shown);
  new_part_.run(stream, wave, now_ns_, sources.to_string(), sources.count(),
                wire::encode_fields(state), json);
}

// Returns false if there is no part yet, or if the two parts cannot be merged.
bool StreamIntake::merge_into_first(StreamId stream, std::uint64_t wave, const IntervalSet& sources,
                                    const wire::Fields& state) {
  if (!first_part_.first(stream, wave)) return false;
  const std::int64_t id = first_part_.integer(0);
  auto all = parse_intervals(first_part_.text(1));
  auto merged = wire::decode_fields(first_part_.blob(2));
  first_part_.reset();
  if (!all || !merged || !fold_->merge(stream, *merged, state)) return false;
  const auto shown = fold_->finish(stream, *merged);
  if (!shown) return false;
  all->insert(sources);
  merged_.run(id, all->to_string(), all->count(), wire::encode_fields(*merged), to_json(*shown));
  return true;
}

void StreamIntake::put_account(const wire::Packet& packet) {
  const auto account = wire::decode_waves(packet.payload, 1);
  if (!account) return;  // Invalid: the account stays open; waves are stored.
  const auto* streams = account->front().find_as<std::vector<std::uint64_t>>(wire::kAccountStreams);
  const auto* sent = account->front().find_as<std::vector<std::uint64_t>>(wire::kAccountSent);
  if (streams == nullptr || sent == nullptr || streams->size() != sent->size()) return;
  const std::uint64_t leaf = packet.id.sources.intervals().front().first;
  for (std::size_t i = 0; i < streams->size(); ++i) {
    const std::uint64_t stream = (*streams)[i];
    const bool is_ours =
        stream >= raw(wire::kFirstStoredStream) && stream <= std::uint64_t{0xffffffff};
    if (!is_ours) continue;
    const StreamId id{static_cast<std::uint32_t>(stream)};
    sent_.run(contributor_of(id, leaf), (*sent)[i], packet.last);
  }
}

}  // namespace xylem::storage
