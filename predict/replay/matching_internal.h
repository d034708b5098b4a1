#pragma once

// Receives that wait for a message, and messages that wait for a receive. Those of one receiver,
// source and tag form a channel. A channel never has both, so it needs only one queue.
//
// Channels are in a hash table. The order of the table affects no result. Only the receives and
// messages of ranks that use wildcards are in lists, which are searched from the oldest entry on.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "predict/network/loggps.h"

namespace xylem::predict {

/// Which of the two waits.
enum class Side : std::uint8_t { kNone, kReceive, kMessage };

/// A receive or a message. Receives with wildcards have kAnySource or kAnyTag.
struct Waiting {
  Side side = Side::kNone;
  std::uint32_t receiver = 0;
  std::uint32_t source = 0;
  std::uint32_t tag = 0;
  std::uint32_t operation = 0;  ///< The receive's, or that of the message's send.
  Ticks ready = 0;              ///< Of a message: when it has occupied the receiver's processor.
};

/// The channels of all ranks without wildcards. A value type; not thread-safe.
class Channels {
 public:
  Channels() : slots_(kFirstSlots) {}

  /// If the channel has something of the other side, removes the first of it, puts its operation
  /// and time into `found`, and returns true. Otherwise `it` waits at the end of the channel.
  bool match_or_wait(const Waiting& it, Waiting& found);

  /// All that wait, in any order.
  void append_all(std::vector<Waiting>& to) const;

 private:
  static constexpr std::size_t kFirstSlots = 1024;  // A power of two.
  static constexpr std::uint32_t kNoRest = 0xffffffff;
  /// A channel and the first that waits in it.
  struct alignas(32) Slot {
    Ticks ready = 0;
    std::uint32_t receiver : 24 = 0;
    Side side : 8 = Side::kNone;  ///< kNone: the slot is empty.
    std::uint32_t source = 0;
    std::uint32_t tag = 0;
    std::uint32_t operation = 0;
    std::uint32_t rest = kNoRest;  ///< The last of the others, which form a ring in rest_.
  };
  static_assert(sizeof(Slot) == 32);
  struct Rest {
    Ticks ready;
    std::uint32_t operation;
    std::uint32_t next;  ///< Of the last: the first. Of an unused entry: the next unused one.
  };

  std::size_t home(std::uint32_t receiver, std::uint32_t source, std::uint32_t tag) const;
  std::size_t find(std::uint32_t receiver, std::uint32_t source, std::uint32_t tag) const;
  void append(Slot& slot, const Waiting& it);
  void remove_first(std::size_t at);
  void clear(std::size_t at);
  void grow();

  std::vector<Slot> slots_;  ///< Linear probing; at least half of the slots are empty.
  std::size_t used_ = 0;
  std::vector<Rest> rest_;
  std::uint32_t unused_ = kNoRest;
};

/// Matches the receives and messages of all ranks. A value type; not thread-safe.
class Matching {
 public:
  /// `wild` has the ranks whose receives may have wildcards, for each rank.
  explicit Matching(const std::vector<bool>& wild);

  /// As Channels::match_or_wait(). `found` also has the source.
  bool match_or_wait(const Waiting& it, Waiting& found) {
    if (lists_.empty() || list_of_[it.receiver] == kNoList) {
      found.source = it.source;
      return channels_.match_or_wait(it, found);
    }
    return match_in_list(it, found);
  }

  /// All that wait, in any order.
  std::vector<Waiting> all() const;

 private:
  static constexpr std::uint32_t kNoList = 0xffffffff;

  bool match_in_list(const Waiting& it, Waiting& found);

  Channels channels_;
  std::vector<std::uint32_t> list_of_;       ///< For each rank an index into lists_, or kNoList.
  std::vector<std::vector<Waiting>> lists_;  ///< In the order in which they began to wait.
};

}  // namespace xylem::predict
