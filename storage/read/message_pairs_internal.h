#pragma once

// Pairs sends and receives by the number of the message in its channel (wire::kEventNumbered).
//
// Nothing is guessed: a send or a receive without a number has no partner. If a number occurs twice
// on one side, neither end has a partner.

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
  /// possible partner. Events that are no end of a message are ignored.
  void take(Rank rank, const wire::Event& event, bool in_range);
  /// Takes an event of a chunk that was opened to find partners.
  void take_partner(Rank rank, const wire::Event& event);

  /// Says which ends are missing, sorted by rank. Sends come first.
  std::vector<MissingEnds> missing() const;

  /// Sets the messages of `timeline`, at most `limit`, and their counts. `clocks_apart` returns how
  /// far the clocks of two ranks may be apart. Call it once.
  void finish(std::uint64_t limit, const std::function<Nanos(Rank, Rank)>& clocks_apart,
              Timeline& timeline);

  /// Drops everything.
  void clear();

 private:
  struct Ends {
    std::uint32_t sends = 0, receives = 0;
    std::uint32_t in_range = 0;  ///< Number of ends that belong to the answer.
    Nanos sent_ns = 0, received_ns = 0;
    std::uint64_t sent_bytes = 0, received_bytes = 0;
  };
  void take_end(Rank rank, const wire::Event& event, bool is_send, bool in_range,
                bool is_only_partner);
  bool belongs(const Ends& ends) const;

  Nanos begin_ns_, end_ns_;
  std::unordered_map<MessageKey, Ends, MessageKeyHash> numbered_;
  std::vector<Timeline::Message> unnumbered_;
};

}  // namespace xylem::storage
