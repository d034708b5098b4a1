#include "wire/tombstone.h"

#include <utility>

#include "base/check.h"
#include "wire/chunk.h"
#include "wire/profile_internal.h"

namespace xylem::wire {
namespace {

using internal::text;

constexpr std::size_t kHeadWords = 12;
constexpr std::size_t kLaneWords = 2;

Tombstone read(schema::Tombstone::Reader in, std::size_t size) {
  Tombstone tombstone;
  tombstone.reason = text(in.getReason());
  tombstone.calls = in.getCalls();
  const auto lanes = in.getLanes();
  tombstone.lanes.reserve(internal::checked_count(lanes, kLaneWords, size));
  for (const auto row : lanes) {
    tombstone.lanes.push_back(
        {LeafId{row.getLeaf()}, internal::process_lane(row.getLane()), row.getCalls()});
  }
  tombstone.accounts = internal::read_accounts(in.getAccounts(), size);
  return tombstone;
}

/// Copies the data of a window that must not be lost with the window.
void keep_account(const Packet& packet, Tombstone& tombstone) {
  if (packet.id.stream != kWindowStream || packet.payload.empty()) return;
  auto window = decode_profile_window(packet.payload);
  if (!window) return;
  for (const ProfileRow& row : window->rows) {
    const bool is_next = tombstone.lanes.empty() || tombstone.lanes.back().leaf != row.leaf ||
                         tombstone.lanes.back().lane != row.lane;
    if (is_next) tombstone.lanes.push_back({row.leaf, row.lane, 0});
    tombstone.lanes.back().calls += row.calls;
  }
  tombstone.accounts = std::move(window->accounts);
}

/// In packets of series and streams a wave is what is counted.
std::uint64_t calls_in(const Packet& packet, const Tombstone& tombstone) {
  if (packet.id.stream == kChunkStream) {
    const auto summary = read_chunk_summary(packet.payload);
    return summary ? summary->calls : 0;
  }
  if (packet.id.stream != kWindowStream) return packet.id.wave_end - packet.id.wave;
  std::uint64_t calls = 0;
  for (const LaneCalls& row : tombstone.lanes) calls += row.calls;
  return calls;
}

Packet stand_in(const Packet& packet, const Tombstone& tombstone) {
  Packet stone(packet.id, encode(tombstone));
  stone.alone = packet.alone;
  stone.last = packet.last;
  stone.tombstone = true;
  return stone;
}

}  // namespace

Bytes encode(const Tombstone& tombstone) {
  std::size_t words = kHeadWords + tombstone.reason.size() / sizeof(capnp::word) +
                      tombstone.lanes.size() * kLaneWords;
  for (const AccountRow& row : tombstone.accounts) words += internal::guess_words(row);
  return internal::encode_flat<schema::Tombstone>(0, words, [&](schema::Tombstone::Builder out) {
    out.setReason(text(tombstone.reason));
    out.setCalls(tombstone.calls);
    if (!tombstone.lanes.empty()) {
      auto lanes = out.initLanes(static_cast<unsigned>(tombstone.lanes.size()));
      unsigned i = 0;
      for (const LaneCalls& row : tombstone.lanes) {
        lanes[i].setLeaf(raw(row.leaf));
        lanes[i].setLane(raw(row.lane));
        lanes[i++].setCalls(row.calls);
      }
    }
    if (tombstone.accounts.empty()) return;
    auto accounts = out.initAccounts(static_cast<unsigned>(tombstone.accounts.size()));
    unsigned i = 0;
    for (const AccountRow& row : tombstone.accounts) internal::write(row, accounts[i++]);
  });
}

Result<Tombstone> decode_tombstone(std::span<const std::byte> payload) {
  return internal::decode_flat<schema::Tombstone>(
      "a tombstone", payload,
      [&](schema::Tombstone::Reader in) { return read(in, payload.size()); });
}

bool may_be_given_up(const Packet& packet) {
  return !packet.tombstone && packet.id.stream != kRegistrationStream &&
         packet.id.stream != kStreamAccountStream;
}

Packet make_tombstone(const Packet& packet, std::string reason, std::uint64_t calls) {
  CHECK(!packet.tombstone);
  Tombstone tombstone{std::move(reason), calls};
  keep_account(packet, tombstone);
  return stand_in(packet, tombstone);
}

Packet make_tombstone(const Packet& packet, std::string reason) {
  CHECK(!packet.tombstone);
  Tombstone tombstone{std::move(reason)};
  keep_account(packet, tombstone);
  tombstone.calls = calls_in(packet, tombstone);
  return stand_in(packet, tombstone);
}

}  // namespace xylem::wire
