#pragma once

// Numbers the messages of a process, so that the two records of a message can be paired.
//
// A *channel* has the messages of one sender to one receiver with one tag on one communicator. MPI
// matches the messages of a channel in the order in which they were sent, with the receives in the
// order in which these were posted. So both ends count from 0, and the send and the receive of a
// message get the same number. Nothing is sent for it.
//
//   sender    number = earlier sends on the channel
//   receiver  number = receives that were posted earlier and took a message of the channel
//
// A receive from one source with one tag takes its number when it is posted. A *wildcard*
// (MPI_ANY_SOURCE, MPI_ANY_TAG) shows its channel only when it completes. Until then it may have
// taken a message of any channel that it fits. So a number is unknown in these cases:
//
//   - a receive that was posted while an earlier fitting wildcard had not completed
//   - a wildcard that completes after a later receive took a number of the same channel, or while
//     an earlier wildcard has not completed that fits the channel
//
// The number itself is taken in all these cases, so the following ones are right.
//
// A lost record leaves a gap in the numbers and nothing else. If the count of a channel is no
// longer certain, its later numbers are unknown: a receive was cancelled or failed. If messages
// were not seen at all, all later numbers of the process are unknown (give_up()): MPI was called
// in a signal handler, by a thread without a ring, while capture was switched off, or on an unknown
// communicator; or there is no memory for a further channel.
//
// Threads: any thread may call any function. With `shared` false no atomic read-modify-write is
// used. Calls of two threads on the same channel that overlap in time get either order. Only a new
// channel takes a lock, with a bounded wait; if another thread holds it for too long, numbers are
// given up.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/core/bounded_lock_internal.h"
#include "capture/core/ring.h"

namespace xylem::capture {

/// A channel as one of its ends sees it. `peer` is the world rank of the other end. A negative
/// `peer` or kNoTag is a wildcard.
struct ChannelKey {
  std::uint32_t comm = 0;
  std::int32_t peer = 0;
  std::int32_t tag = 0;
  bool operator==(const ChannelKey&) const = default;
};

struct MessageNumber {
  std::uint32_t value = 0;
  bool is_known = false;
};

/// A receive between its post and its completion; part of a TrackedRequest.
struct PostedReceive {
  enum class State : std::uint8_t {
    kNone = 0,       ///< Not counted.
    kNumbered = 1,   ///< It has taken `number`, which is certain.
    kUncertain = 2,  ///< It has taken a number, but an earlier wildcard may have been first.
    kWildcard = 3,   ///< Its channel is not known yet. `number` is its place among the wildcards.
  };
  std::uint32_t number = 0;
  State state = State::kNone;
};

/// The memory only has to be zeroed. About 26 KiB are used at first. Each further channel takes 56
/// to 64 bytes, up to kMaxChannels.
class MessageNumbers {
 public:
  static constexpr std::uint32_t kMaxChannels = 1u << 20;
  /// Wildcards that can be pending at the same time. While there are more, all receives are
  /// uncertain.
  static constexpr std::uint32_t kMaxWildcards = 256;

  /// The number of a message that is sent on `channel`, which has no wildcard.
  MessageNumber send(const ChannelKey& channel, bool shared) noexcept {
    Channel* const at = is_simple(shared, kGivenUp) ? guess(channel, last_sent_, kSent) : nullptr;
    return __builtin_expect(at != nullptr, 1) ? take_next(at->sent) : look_up_send(channel, shared);
  }

  /// Notes that a receive was posted. `wanted` may have wildcards.
  PostedReceive post(const ChannelKey& wanted, bool shared) noexcept {
    Channel* const at =
        is_simple(shared, kAnything) ? guess(wanted, last_received_, kReceived) : nullptr;
    if (__builtin_expect(at == nullptr, 0)) return look_up_post(wanted, shared);
    return {take_next(at->received).value, PostedReceive::State::kNumbered};
  }

  /// The number of the message that a posted receive has got. `channel` is that of the message.
  MessageNumber complete(PostedReceive& posted, const ChannelKey& channel, bool shared) noexcept {
    const bool is_plain = posted.state == PostedReceive::State::kNumbered &&
                          (care_.load(std::memory_order_relaxed) & (kGivenUp | kUncertain)) == 0;
    if (__builtin_expect(!is_plain, 0)) return look_up_completed(posted, channel, shared);
    posted.state = PostedReceive::State::kNone;
    return {posted.number, true};
  }

  /// Like post() directly followed by complete(): a receive that was posted and completed without
  /// another call of the process in between.
  MessageNumber receive(const ChannelKey& channel, bool shared) noexcept {
    Channel* const at =
        is_simple(shared, kAnything) ? guess(channel, last_received_, kReceived) : nullptr;
    return __builtin_expect(at != nullptr, 1) ? take_next(at->received)
                                              : look_up_received(channel, shared);
  }

  /// A posted receive has got no message: it was cancelled, or failed.
  void cancel(PostedReceive& posted, const ChannelKey& wanted) noexcept;
  /// A posted receive will not be seen again, whatever becomes of it.
  void forget(PostedReceive& posted) noexcept;

  /// Some messages of this process are not counted. All later numbers are unknown.
  void give_up() noexcept { care_.fetch_or(kGivenUp, std::memory_order_relaxed); }
  bool has_given_up() const noexcept {
    return (care_.load(std::memory_order_relaxed) & kGivenUp) != 0;
  }

 private:
  enum Direction : std::uint8_t { kSent, kReceived };

  /// 48 bytes.
  struct Channel {
    ChannelKey key;
    std::atomic<std::uint32_t> is_uncertain{};  // 1 after a receive was cancelled or failed.
    std::atomic<std::uint32_t> sent{};
    std::atomic<std::uint32_t> received{};  // Receives that have taken a number.
    // Latest post, while a wildcard was pending, of such a receive.
    std::atomic<std::uint64_t> last_post{};
    Channel* next[2] = {};  // By direction: the channel that was used after this one the last time.
  };
  struct Wildcard {
    std::atomic<std::uint64_t> post{};  // 0: free; kClaimed: being filled.
    // What it asks for. Another thread may fill the place anew while these are read, so a reader
    // reads `post` again after them.
    std::atomic<std::uint32_t> comm{};
    std::atomic<std::int32_t> peer{};
    std::atomic<std::int32_t> tag{};

    void fill(const ChannelKey& wanted) noexcept {
      comm.store(wanted.comm, std::memory_order_relaxed);
      peer.store(wanted.peer, std::memory_order_relaxed);
      tag.store(wanted.tag, std::memory_order_relaxed);
    }
    ChannelKey wanted() const noexcept {
      return {comm.load(std::memory_order_relaxed), peer.load(std::memory_order_relaxed),
              tag.load(std::memory_order_acquire)};
    }
  };
  static constexpr std::uint64_t kClaimed = ~std::uint64_t{0};

  // Bits of `care_`, which is 0 while all numbers are certain and no wildcard is pending.
  static constexpr std::uint32_t kGivenUp = 1;
  static constexpr std::uint32_t kUncertain = 2;    // A channel is uncertain.
  static constexpr std::uint32_t kOneWildcard = 4;  // Each pending wildcard adds it.
  static constexpr std::uint32_t kAnything = ~std::uint32_t{0};

  // Channels lie in slabs that never move: slab k has kFirstSlab << k of them. The index finds them
  // by hash. A larger index replaces it when half of it is in use.
  static constexpr std::uint32_t kFirstSlab = 256;
  static constexpr std::uint32_t kSlabs = 13;
  static constexpr std::uint32_t kFirstIndex = 1024;
  struct Index {
    std::uint32_t mask = 0;
    std::atomic<std::uint32_t>* places = nullptr;  // Number of the channel plus 1; 0: free.
  };

  // A program repeats its messages, so the channel after the last one is usually the one that came
  // after it before. Guessing it is faster than a hash, but only one thread may do it. Null: it is
  // another channel.
  bool is_simple(bool shared, std::uint32_t cares_for) const noexcept {
    return !shared && (care_.load(std::memory_order_relaxed) & cares_for) == 0;
  }
  static Channel* guess(const ChannelKey& key, Channel*& last, Direction direction) noexcept {
    Channel* const likely = last != nullptr ? last->next[direction] : nullptr;
    if (likely == nullptr || likely->key != key) return nullptr;
    last = likely;
    return likely;
  }
  static MessageNumber take_next(std::atomic<std::uint32_t>& counter) noexcept {
    const std::uint32_t number = counter.load(std::memory_order_relaxed);
    counter.store(number + 1, std::memory_order_relaxed);
    return {number, true};
  }

  [[gnu::noinline]] MessageNumber look_up_send(ChannelKey key, bool shared) noexcept;
  [[gnu::noinline]] PostedReceive look_up_post(ChannelKey wanted, bool shared) noexcept;
  [[gnu::noinline]] MessageNumber look_up_received(ChannelKey key, bool shared) noexcept;
  [[gnu::noinline]] MessageNumber look_up_completed(PostedReceive& posted, ChannelKey key,
                                                    bool shared) noexcept;

  Channel* find(const ChannelKey& key, bool shared, Direction direction) noexcept;
  Channel* find_or_add(const ChannelKey& key, bool shared) noexcept;
  Channel* search(const ChannelKey& key) noexcept;
  Channel* add(const ChannelKey& key) noexcept;
  Channel* channel(std::uint32_t number) noexcept;
  bool has_room(std::uint32_t number) noexcept;
  bool grow_index(std::uint32_t places) noexcept;
  static void put(std::atomic<std::uint32_t>* places, std::uint32_t mask, const ChannelKey& key,
                  std::uint32_t number) noexcept;

  PostedReceive post_wildcard(const ChannelKey& wanted, bool shared) noexcept;
  MessageNumber complete_wildcard(PostedReceive& posted, const ChannelKey& key,
                                  bool shared) noexcept;
  std::uint64_t release_wildcard(PostedReceive& posted) noexcept;
  std::uint64_t next_post(bool shared) noexcept;
  std::uint32_t take_number(Channel& at, std::uint64_t post, bool shared) noexcept;
  bool has_earlier_wildcard(const ChannelKey& key, std::uint64_t post) const noexcept;

  std::atomic<std::uint32_t> care_{};
  // For BoundedLock. Not a SharedState: its mutex waits without limit, but a thread may end or be
  // left by a jump while it has the lock, and look-ups read the table without the lock.
  LockState locked_{};
  Channel* last_sent_ = nullptr;
  Channel* last_received_ = nullptr;
  std::atomic<Index*> index_{};  // Null while `first_places_` is the index.
  std::atomic<std::uint32_t> channels_{};
  Channel* slabs_[kSlabs] = {};
  Index indexes_[kSlabs] = {};
  std::atomic<std::uint32_t> first_places_[kFirstIndex] = {};
  Channel first_slab_[kFirstSlab] = {};

  std::atomic<std::uint64_t> posts_{};
  std::atomic<std::uint32_t> surplus_wildcards_{};  // Pending, but without a place.
  std::atomic<std::uint32_t> used_wildcards_{};     // Places from here on have never been used.
  Wildcard wildcards_[kMaxWildcards] = {};
};

/// The numbers of this process.
extern MessageNumbers message_numbers [[gnu::visibility("hidden")]];

}  // namespace xylem::capture
