#pragma once

// The journal keeps a leaf's packets until the root has acknowledged them. An agent makes its
// packets from the records in the rings.
//
// The journal is a circular log in shared memory. An agent's journal outlives the worker, because
// the guard keeps the memory. Each entry has a packet and, for each ring with records in the
// packet, the position after these records. A worker may die at any point. If a packet is not in
// the journal at that point, its records are still in the rings. If the packet is in the journal, a
// successor first moves the tails of the rings to the entry's positions. The order of writes is:
//
//   append: bytes of the entry | head (release: committed) | the caller moves rings
//   free:   entry's state      | tail past the freed entries
//
//   region: [ page of header | ...freed | oldest live entry ... newest entry | free... ]
//                                        ^tail                                ^head
//
// `head` and `tail` only grow. Modulo the log's size, they are positions in the log. An entry never
// wraps around the end of the region. A recovery only raises the positions and counts in the
// processes' segments to the values in the journal. So a second recovery changes nothing.
//
// Giving up: when the log is full, its oldest packets are removed, and tombstones with the same
// identities are appended. A tombstone has the data that the account needs (wire/tombstone.h).
// Registrations are small and never given up. JournalOptions::may_give_up can exclude more streams,
// for example blocking ones. The senders of these streams must wait. One old entry may block the
// log while at least half of the log is free. Then this entry is moved to the end unchanged, and
// nothing is lost. An old entry that must not be given up is also moved.

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/leaf/ring_progress.h"
#include "backend/leaf/run_clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/packet.h"

namespace xylem::backend {

/// The position in one ring after the records of an entry.
struct RingMark {
  Lane lane{};
  std::uint32_t ring = 0;
  RingProgress to;
};

/// Number of calls of a function in all windows up to this entry.
struct CallsMark {
  Lane lane{};
  FunctionId function{};
  std::uint64_t calls = 0;
};

/// The progress that an entry commits.
struct Progress {
  std::vector<RingMark> rings;
  std::vector<CallsMark> calls;
  std::vector<Lane> finished;  ///< Processes whose last account is in this entry.
};

/// A packet to be journalled.
struct Draft {
  wire::Packet packet;      ///< Its only source is this leaf.
  std::uint64_t calls = 0;  ///< Number of calls that are lost if the packet is given up.
  Progress progress;
};

/// Identifies an entry. A leaf uses each key only once, apart from resends.
struct PacketKey {
  StreamId stream{};
  Lane lane{};
  std::uint64_t wave = 0;
  auto operator<=>(const PacketKey&) const = default;
};
/// The key of a packet of this leaf: its identity without the sources.
PacketKey key_of(const wire::PacketId& id);

/// State for a successor (tree, clock, control). Ids are plain numbers here, because the journal's
/// memory contains this struct as it is.
struct Memo {
  std::uint32_t known = 0;  ///< 1 if the other fields are set; else 0.
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
  /// The reason for giving up packets. Tombstones contain this text, and the account shows it.
  std::string reason = "the agent's journal was full";
  /// Returns whether packets of a stream may become tombstones to make room. If the function is
  /// empty, all packets except registrations may become tombstones.
  std::function<bool(StreamId)> may_give_up;
  /// Freed memory is returned to the system in portions of at least this size. For this, the region
  /// must be mapped from a memfd. Writing to returned memory causes page faults. A page fault costs
  /// several times as much as copying the page. So programs that send much data in a short time
  /// should use kKeepAll: then only trim() returns memory.
  std::size_t give_back_bytes = 256u << 10;
  /// Called after each step of a write into the region. Tests use it to interrupt the journal
  /// there.
  std::function<void()> on_store;
};

/// A journal in a borrowed memory region. The region outlives this object. It must be page-aligned
/// and have at least kSmallest bytes. Not thread-safe. The region's size limits the data that a
/// leaf keeps; an agent's default is 64 MiB. Memory is allocated only as used.
class Journal {
 public:
  static constexpr std::size_t kSmallest = 64u << 10;
  static constexpr std::size_t kDefaultBytes = 64u << 20;
  static constexpr std::size_t kKeepAll = std::numeric_limits<std::size_t>::max();

  /// Opens a predecessor's journal, or makes a journal in zeroed memory. Fails with
  /// kInvalidArgument when the region is too small. Fails with kCorrupt when the region is not
  /// zero, and is damaged or not a journal of this version and size.
  static Result<Journal> open(std::span<std::byte> region, JournalOptions options = {});

  /// Writes and commits an entry. If the process dies meanwhile, the journal contains the whole
  /// entry or nothing of it. Fails with kExhausted when there is no room even after giving up
  /// packets, or when the entry is larger than half of the log. Then the entry was not written, and
  /// the caller must not read more records from the rings. Fails with kAlreadyExists when an entry
  /// with the same identity is live; in an agent this means that a process has tampered with its
  /// segment.
  Result<void> append(const Draft& draft);

  /// Frees the entry. Returns false if there is no such entry, because it is already acknowledged
  /// or was never in this journal.
  bool acknowledge(const PacketKey& key);

  bool empty() const noexcept { return offset_of_.empty(); }
  bool contains(const PacketKey& key) const { return offset_of_.contains(key); }
  /// Live entries, oldest first.
  std::vector<PacketKey> keys() const;
  /// The packet of a live entry, or its tombstone.
  wire::Packet read(const PacketKey& key) const;
  std::size_t payload_bytes(const PacketKey& key) const;
  std::uint64_t calls_in(const PacketKey& key) const;
  bool is_last(const PacketKey& key) const;  ///< Packet.last

  /// The progress of a lane according to the entries found by open(). Apply it to the lane's
  /// segment before any other use of the journal.
  Progress progress_of(Lane lane) const;

  /// The next free wave number of this leaf on the stream of registrations or of windows.
  std::uint64_t next_wave(StreamId stream) const;

  /// Sample numbers of a service. `service` is the lane of the service's packets; there are at most
  /// wire::kMaxServices services. The function next_sample() returns the number after the last
  /// journalled sample. The function samples_taken() returns how many numbers take_sample_number()
  /// has given out. If this count is larger than next_sample(), some samples were taken but not
  /// journalled, for example because a worker died.
  std::uint64_t next_sample(Lane service) const;
  std::uint64_t samples_taken(Lane service) const;
  std::uint64_t take_sample_number(Lane service);

  /// Returns the freed memory before the oldest live entry to the system, in whole pages.
  void trim();

  /// The memo that was stored last, for example by a predecessor; all zero before the first.
  Memo memo() const;
  /// Stores a memo. If the process dies meanwhile, the journal has the old memo or the new one.
  void remember(const Memo& memo);

  /// The clocks that were stored last, for example by a predecessor. Call remember() with new
  /// clocks before they convert any time. Then a successor converts the same times in the same
  /// way.
  ClockMemo clock_memo() const;
  void remember(const ClockMemo& memo);

  std::uint64_t given_up_packets() const noexcept { return given_up_packets_; }
  std::uint64_t given_up_calls() const noexcept { return given_up_calls_; }
  std::size_t live_bytes() const noexcept { return live_bytes_; }
  /// Size of the region. Live entries can use almost all of it.
  std::size_t capacity() const noexcept { return region_.size(); }

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
  std::uint64_t given_back_ = 0;  // Log bytes before this offset need not be returned to the
                                  // system.
  std::uint64_t given_up_packets_ = 0;
  std::uint64_t given_up_calls_ = 0;
};

}  // namespace xylem::backend
