#pragma once

// What an agent has taken from the rings and the root has not yet stored.
//
// A log in a ring of shared memory that outlives the worker: the guard holds it. Each entry is a
// packet together with how far it takes the rings it was made from, so that after a death at any
// point the packet is either not there, and its records are still in the rings, or it is there, and
// a successor moves the rings past its records before it reads on:
//
//   append: bytes of the entry | head (release: committed) | the caller moves rings
//   free:   entry's state      | tail over the freed ones
//
//   region: [ page of header | ...freed | oldest live entry ... newest entry | free... ]
//                                        ^tail                                ^head
//
// head and tail count bytes for ever; their remainders are places. An entry is never cut by the end
// of the region. Everything that a recovery applies is absolute and only grows, so that applying it
// again changes nothing.
//
// Giving up: when the log is full, its oldest packets are replaced by tombstones of the same
// identity at the new end, which keep what the account needs (wire/tombstone.h). Registrations are
// small and never given up, nor are packets of streams that say so: then whoever appends waits.
// While at least half of the log is free but held by one old entry, that is moved as it is, and
// nothing is lost.

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/leaf/ring_progress.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/packet.h"

namespace xylem::backend {

/// How far an entry takes one ring.
struct RingMark {
  Lane lane{};
  std::uint32_t ring = 0;
  RingProgress to;
};

/// How many calls of a function are in windows, this entry included.
struct CallsMark {
  Lane lane{};
  FunctionId function{};
  std::uint64_t calls = 0;
};

/// What becomes true with an entry.
struct Progress {
  std::vector<RingMark> rings;
  std::vector<CallsMark> calls;
  std::vector<Lane> finished;  ///< Processes whose last account is in this entry.
};

/// A packet to be journalled.
struct Draft {
  wire::Packet packet;      ///< Sources: one leaf.
  std::uint64_t calls = 0;  ///< What is lost, in calls, if it is given up.
  Progress progress;
};

/// Names an entry; a leaf sends each at most once, apart from resends.
struct PacketKey {
  StreamId stream{};
  Lane lane{};
  std::uint64_t wave = 0;
  auto operator<=>(const PacketKey&) const = default;
};
PacketKey key_of(const wire::PacketId& id);

/// What a successor must know besides the packets: its place in the tree and the run's clock.
struct Memo {
  std::uint32_t known = 0;  ///< 0: nothing yet.
  std::uint32_t leaf = 0;
  std::uint32_t node = 0;
  std::uint32_t level = 0;
  std::int64_t epoch_ns = 0;
  std::int64_t window_ns = 0;
  std::int64_t offset_ns = 0;
  std::uint32_t chunks = 0;
  std::uint32_t enabled = 0;
  std::uint32_t clock_known = 0;
  std::uint32_t reserved = 0;
  bool operator==(const Memo&) const = default;
};

struct JournalOptions {
  /// Why packets become tombstones here, for the account.
  std::string reason = "the agent's journal was full";
  /// Packets of which streams may be replaced by tombstones to make room; empty: of all but the
  /// registrations.
  std::function<bool(StreamId)> may_give_up;
  /// Freed memory goes back to the system when so much has gathered; kKeepAll: by trim() only. The
  /// region must be mapped from a memfd. What went back costs page faults when it is written again,
  /// several times its copying: who sends much at once keeps it meanwhile.
  std::size_t give_back_bytes = 256u << 10;
  /// Called after every store into the region: tests cut there.
  std::function<void()> on_store;
};

/// The journal over a region that outlives it. One thread. The region is borrowed, page-aligned and
/// at least kSmallest bytes; its size is the bound of what an agent keeps (default 64 MiB, of which
/// only what is in use takes memory).
class Journal {
 public:
  static constexpr std::size_t kSmallest = 64u << 10;
  static constexpr std::size_t kDefaultBytes = 64u << 20;
  static constexpr std::size_t kKeepAll = std::numeric_limits<std::size_t>::max();

  /// Opens what a predecessor left, or makes a journal in zeroed memory.
  /// Fails with kInvalidArgument when the region is too small, and with kCorrupt when it is neither
  /// zero nor a journal of this version and size.
  static Result<Journal> open(std::span<std::byte> region, JournalOptions options = {});

  /// Writes and commits. All or nothing, at whatever point the process dies.
  /// Fails with kExhausted when there is no room even after packets were given up; nothing has been
  /// written then, and nothing more may be taken from the rings. Fails with kAlreadyExists when an
  /// entry of that identity is live: a segment was tampered with.
  Result<void> append(const Draft& draft);

  /// Frees the entry. False when there is none: acknowledged before, or never ours.
  bool acknowledge(const PacketKey& key);

  bool empty() const noexcept { return offset_of_.empty(); }
  bool contains(const PacketKey& key) const { return offset_of_.contains(key); }
  /// Live entries, oldest first.
  std::vector<PacketKey> keys() const;
  /// The packet of a live entry: what was appended, or its tombstone.
  wire::Packet read(const PacketKey& key) const;
  std::size_t payload_bytes(const PacketKey& key) const;
  std::uint64_t calls_in(const PacketKey& key) const;
  bool is_last(const PacketKey& key) const;  ///< Packet.last

  /// What the entries found at open() say of a lane: to be applied to its segment before anything
  /// else is done to the journal.
  Progress progress_of(Lane lane) const;

  /// The lowest wave that this leaf has not used on the stream.
  std::uint64_t next_wave(StreamId stream) const;

  /// Numbers of the samples of a service, by the lane of its packets (at most wire::kMaxServices):
  /// the lowest that is in no entry; how many were taken by take_sample_number(). What lies between
  /// was taken and has not come to an entry: also when a worker died over it.
  std::uint64_t next_sample(Lane service) const;
  std::uint64_t samples_taken(Lane service) const;
  std::uint64_t take_sample_number(Lane service);

  /// Gives all freed memory back to the system.
  void trim();

  Memo memo() const;
  void remember(const Memo& memo);

  std::uint64_t given_up_packets() const noexcept { return given_up_packets_; }
  std::uint64_t given_up_calls() const noexcept { return given_up_calls_; }
  std::size_t live_bytes() const noexcept { return live_bytes_; }

 private:
  struct Header;
  struct Entry;

  Journal(std::span<std::byte> region, JournalOptions options);
  Header& header() const;
  Entry& entry_at(std::uint64_t offset) const;
  std::span<std::byte> log() const;
  void format();
  Result<void> recover();
  bool are_places(std::uint64_t tail, std::uint64_t head) const;
  bool is_plausible(std::uint64_t offset, std::uint64_t head) const;
  Progress read_progress(std::uint64_t offset) const;

  template <typename Atomic, typename Value>
  void store(Atomic& where, Value value);
  void write(std::byte*& at, const void* from, std::size_t bytes);
  void stored() const;

  void note_wave(StreamId stream, Lane lane, std::uint64_t end);
  std::size_t room() const;
  std::size_t needed(std::size_t entry_bytes) const;
  bool may_give_up(StreamId stream) const;
  bool make_room(std::size_t entry_bytes, StreamId stream);
  bool relocate_oldest();
  std::uint64_t put(const wire::Packet& packet, std::uint64_t calls, const Progress& progress);
  void free_entry(std::uint64_t offset);
  void advance_tail();
  void rewind_when_empty();
  void give_back(std::uint64_t to);

  std::span<std::byte> region_;
  JournalOptions options_;
  std::map<PacketKey, std::uint64_t> offset_of_;
  std::map<std::uint64_t, PacketKey> key_at_;
  std::map<Lane, Progress> recovered_;
  std::size_t live_bytes_ = 0;
  std::uint64_t given_back_ = 0;  // Log bytes before it need not be given back to the system.
  std::uint64_t given_up_packets_ = 0;
  std::uint64_t given_up_calls_ = 0;
};

}  // namespace xylem::backend
