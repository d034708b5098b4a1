#pragma once

// Receives that wait for a message, and messages that wait for a receive. Both are kept in
// channels: first-in-first-out queues for each receiver, source and tag, in a hash table. The order
// of the table affects no result.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xylem::predict {

/// Whose messages: `source` and `tag` are kAnySource and kAnyTag only for receives with wildcards.
struct Channel {
  std::uint32_t receiver = 0;
  std::uint32_t source = 0;
  std::uint32_t tag = 0;
  bool operator==(const Channel&) const = default;
};

/// A receive or message that waits.
struct Waiting {
  Channel channel;
  std::uint32_t operation = 0;  ///< The receive, or the send of the message.
  std::uint64_t order = 0;      ///< Of a receive: increases with each one that is posted.
  std::uint64_t ready = 0;      ///< Of a message: when it has occupied the receiver's processor.
};

/// Receives, or messages, that wait. A value type; not thread-safe.
class WaitingSet {
 public:
  /// With `by_receiver`, first_match() can be called. It takes 4 bytes for each of `ranks`.
  WaitingSet(std::size_t ranks, bool by_receiver);

  void add(const Waiting& waiting);

  /// The first of a channel, or nullptr. Valid until the next change.
  const Waiting* first(const Channel& channel) const;

  /// The first of a receiver that matches, where each side may have wildcards, or nullptr.
  const Waiting* first_match(const Channel& wanted) const;

  /// Removes the first of a channel, which is not empty.
  void remove_first(const Channel& channel);

  /// All that wait, by source and operation.
  std::vector<Waiting> all() const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Entry {
    Waiting waiting;
    std::uint32_t next = kNone;  ///< In the channel. Of an unused entry: the next unused one.
    // In the list of the receiver.
    std::uint32_t earlier = kNone, later = kNone;
  };
  struct Slot {
    Channel channel;
    std::uint32_t first = kNone;  ///< kNone: the slot is empty.
    std::uint32_t last = kNone;
  };
  /// The ends of a receiver's list.
  struct Ends {
    std::uint32_t first = kNone, last = kNone;
  };

  std::size_t home(const Channel& channel) const;
  /// The channel's slot, or the empty one in which it would be.
  std::size_t find(const Channel& channel) const;
  void grow();
  void clear_slot(std::size_t slot);
  std::uint32_t new_entry(const Waiting& waiting);
  void join_receiver(std::uint32_t entry);
  void leave_receiver(const Entry& entry);

  std::vector<Slot> slots_;  ///< Linear probing; at least half of the slots are empty.
  std::size_t used_ = 0;
  std::vector<Entry> entries_;
  std::uint32_t unused_ = kNone;
  std::vector<Ends> receivers_;  ///< Empty without `by_receiver`.
};

/// Both sides. Receives with wildcards are looked at one by one, all others in constant time.
class Matching {
 public:
  /// With `has_wildcards`, receives may have kAnySource or kAnyTag.
  Matching(std::size_t ranks, bool has_wildcards);

  /// Finds and removes the earliest message for a receive. Without one, the receive waits, and the
  /// result is false.
  bool post(const Channel& wanted, std::uint32_t receive, Waiting& message);

  /// Finds and removes the earliest receive for a message. Without one, the message waits, and the
  /// result is false.
  bool arrive(const Channel& channel, std::uint32_t send, std::uint64_t ready, Waiting& receive);

  /// The messages that no receive has taken, by source and operation.
  std::vector<Waiting> messages() const { return messages_.all(); }

 private:
  static bool is_wild(const Channel& wanted);

  bool has_wildcards_;
  WaitingSet receives_;
  WaitingSet wild_receives_;
  WaitingSet messages_;
  std::uint64_t posted_ = 0;
};

}  // namespace xylem::predict
