#pragma once

// Pairs sends and receives by the number of the message in its channel (wire::kEventNumbered).
//
// Nothing is guessed: a send or a receive without a number has no partner. If a number occurs twice
// on one side, neither end has a partner. If calls of different threads of a rank overlap in time
// on the same side of a channel, the order in which MPI numbered their messages is not known, so
// these ends have no partner. This is the rule of message_matcher.h, applied to the ends that were
// taken: a receive counts from the call that posted it, if this call was taken.

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "storage/read/message_key.h"
#include "storage/read/timeline_answers.h"
#include "wire/chunk.h"

namespace xylem::storage {

/// Where the partners of sends or of receives may be.
struct MissingEnds {
  Rank rank{};             ///< The rank that has made the missing calls.
  bool are_sends = false;  ///< Sends are missing. If false, receives are.
  /// The earliest send without a receive, and the latest receive without a send.
  Nanos earliest_ns = 0, latest_ns = 0;
};

/// Collects the ends of messages of one world. Takes events in any order. Not thread-safe.
///
/// The answer has the messages with an end in the range. It also has the messages that were sent
/// before the range and received after it, as far as both ends were taken.
class MessagePairs {
 public:
  MessagePairs(Nanos begin_ns, Nanos end_ns) : begin_ns_(begin_ns), end_ns_(end_ns) {}

  /// Takes an event of a chunk. `in_range`: the event belongs to the answer. If false, it is only a
  /// possible partner. `posts`: the call posts a receive (CallRole::kPost). Other events that are
  /// no end of a message are ignored.
  void take(Rank rank, const wire::Event& event, bool in_range, bool posts = false);
  /// Takes an event of a chunk that was opened to find partners.
  void take_partner(Rank rank, const wire::Event& event, bool posts = false);

  /// Says which ends are missing, sorted by rank. Sends come first.
  std::vector<MissingEnds> missing() const;

  /// Sets the messages of `timeline`, at most `limit`, and their counts. `clocks_apart` returns how
  /// far the clocks of two ranks may be apart. Call it once.
  void finish(std::uint64_t limit, const std::function<Nanos(Rank, Rank)>& clocks_apart,
              Timeline& timeline);

  /// Drops everything.
  void clear();

 private:
  struct Call {
    Nanos begin_ns = 0, end_ns = 0;
    ThreadIndex thread{};
  };
  struct Post {
    Rank rank{};
    std::uint64_t request = 0;
    Call call;
  };
  /// The sends or the receives with a number. Usually one.
  struct End {
    std::uint32_t count = 0;
    std::uint32_t in_range = 0;  ///< How many of them belong to the answer.
    std::uint64_t bytes = 0;
    std::uint64_t request = 0;  ///< 0 for sends.
    Call call;
    bool is_ambiguous = false;
  };
  struct Ends {
    End send, receive;
    bool is_of_partners = false;  ///< Both are known only from take_partner().
    std::uint32_t in_range() const { return send.in_range + receive.in_range; }
    bool is_pair() const {
      return send.count == 1 && receive.count == 1 && !send.is_ambiguous && !receive.is_ambiguous;
    }
  };
  void take_event(Rank rank, const wire::Event& event, bool in_range, bool posts, bool is_partner);
  void take_end(Rank rank, const wire::Event& event, bool is_send, bool in_range, bool is_partner);
  Call numbered_in(Rank rank, const End& end) const;
  void find_ambiguous();
  bool belongs(const Ends& ends) const;

  Nanos begin_ns_, end_ns_;
  std::unordered_map<MessageKey, Ends, MessageKeyHash> numbered_;
  std::vector<Timeline::Message> unnumbered_;
  std::vector<Post> posts_;
};

}  // namespace xylem::storage
