#pragma once

// Helpers for tests of the store: packets like those of a leaf, and a folder for files.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "storage/write/store.h"
#include "wire/chunk.h"
#include "wire/profile.h"
#include "wire/registration.h"
#include "wire/tombstone.h"

namespace xylem::storage {

/// The length of a window in tests of stored runs.
constexpr Nanos kWindow = 250 * kMillisecond;

constexpr FunctionId kSend{0};
constexpr FunctionId kReceive{1};
constexpr FunctionId kWaitall{2};

/// A temporary folder. The destructor removes it.
class Folder {
 public:
  Folder() {
    std::string name = "/tmp/xylem-storage-test-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline wire::WorldKey world_key(std::uint8_t number) {
  wire::WorldKey key{};
  key.fill(number);
  return key;
}

inline wire::ProcessRow process_row(std::uint32_t lane, std::uint32_t rank, std::uint8_t world = 1,
                                    std::uint32_t world_size = 4) {
  wire::ProcessRow row;
  row.lane = Lane{lane};
  row.pid = 1000 + rank;
  row.initialised = true;
  row.world_key = world_key(world);
  row.rank = Rank{rank};
  row.world_size = world_size;
  row.mpi_library = "MPICH 4.0.2";
  row.program = "app";
  return row;
}

inline wire::Packet registration_packet(std::uint32_t leaf, std::vector<wire::ProcessRow> rows,
                                        std::uint64_t wave = 0) {
  wire::Registration registration;
  registration.host = "node" + std::to_string(leaf);
  registration.functions = {{kSend, "MPI_Send", 1}, {kReceive, "MPI_Recv", 1}};
  registration.processes = std::move(rows);
  return wire::Packet({wire::kRegistrationStream, kLeafLane, wave, wave + 1, IntervalSet::of(leaf)},
                      wire::encode(registration));
}

inline wire::ProfileRow profile_row(std::uint32_t leaf, std::uint32_t lane, std::uint64_t calls,
                                    FunctionId function = kSend) {
  wire::ProfileRow row;
  row.leaf = LeafId{leaf};
  row.lane = Lane{lane};
  row.function = function;
  row.calls = row.calls_so_far = calls;
  row.time_ns = 1000 * calls;
  row.min_ns = 500;
  row.max_ns = 2000;
  row.bytes = 8 * calls;
  row.histogram.add(1000, calls);
  return row;
}

inline wire::AccountRow account_row(std::uint32_t leaf, std::uint32_t lane, std::uint64_t captured,
                                    bool ended = false, std::uint64_t lost = 0) {
  wire::AccountRow row;
  row.leaf = LeafId{leaf};
  row.lane = Lane{lane};
  row.captured = captured;
  row.lost = lost;
  row.windowed = captured - lost;
  row.ended = ended;
  return row;
}

inline wire::Packet window_packet(std::uint64_t wave, IntervalSet sources,
                                  wire::ProfileWindow window) {
  if (window.end_ns == 0) {
    window.begin_ns = static_cast<Nanos>(wave) * 250 * kMillisecond;
    window.end_ns = window.begin_ns + 250 * kMillisecond;
  }
  return wire::Packet({wire::kWindowStream, kLeafLane, wave, wave + 1, std::move(sources)},
                      wire::encode(window));
}

/// Makes a window with `calls` calls of one process, and the account of this process.
inline wire::Packet window_packet(std::uint64_t wave, std::uint32_t leaf, std::uint64_t calls,
                                  const wire::AccountRow& account) {
  wire::ProfileWindow window;
  if (calls != 0) window.rows = {profile_row(leaf, raw(account.lane), calls)};
  window.accounts = {account};
  return window_packet(wave, IntervalSet::of(leaf), window);
}

/// Makes the events [first, end) of a process. Event i begins at 1000 i ns, lasts 400 ns, and has
/// peer i % 4.
inline std::vector<wire::Event> some_events(std::uint64_t first, std::uint64_t end) {
  std::vector<wire::Event> events;
  for (std::uint64_t i = first; i < end; ++i) {
    wire::Event event;
    event.begin_ns = static_cast<Nanos>(1000 * i);
    event.end_ns = event.begin_ns + 400;
    event.bytes = 8 * i;
    event.comm = CommId{0};
    event.peer = static_cast<std::int32_t>(i % 4);
    event.tag = static_cast<std::int32_t>(i % 10);
    event.function = i % 2 == 0 ? kSend : kReceive;
    events.push_back(event);
  }
  return events;
}

inline wire::Packet chunk_packet(std::uint32_t leaf, std::uint32_t lane, std::uint64_t first,
                                 const std::vector<wire::Event>& events) {
  return wire::Packet(
      {wire::kChunkStream, Lane{lane}, first, first + events.size(), IntervalSet::of(leaf)},
      wire::ChunkEncoder().encode(events));
}

inline wire::Packet chunk_packet(std::uint32_t leaf, std::uint32_t lane, std::uint64_t first,
                                 std::uint64_t end) {
  return chunk_packet(leaf, lane, first, some_events(first, end));
}

/// Makes the tombstone of `packet` as an agent of an older version does: without lanes and
/// accounts, which wire::make_tombstone keeps.
inline wire::Packet tombstone_of(const wire::Packet& packet, std::uint64_t calls,
                                 std::string reason = "the journal was full") {
  wire::Tombstone tombstone;
  tombstone.reason = std::move(reason);
  tombstone.calls = calls;
  wire::Packet stone(packet.id, wire::encode(tombstone));
  stone.tombstone = true;
  return stone;
}

}  // namespace xylem::storage
