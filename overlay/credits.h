#pragma once

// How much of what takes room a link carries: the receiver grants bytes, the sender keeps within.
//
// Counted are data (packets and multicasts), by the bytes of their frames. All else (control,
// acknowledgements, heartbeats, reports) is small or rare and never waits, so a link whose data
// waits is alive, and the tree can be healed and dissolved while every store stands still.
//
//   a link begins with kFirstCredit;  the receiver tells totals: granted = taken + kCreditWindow
//   data may go while  sent < granted;  so the last frame may exceed it: by one frame, no more
//
// A node passes data on, so it grants upwards only while its own way up has room, and downwards
// only while none of its children is slow: whoever makes the data waits in the end, be it a leaf,
// whose journal holds it, or a tool's multicast. Nobody waits in a circle: what goes up waits for
// the root alone, which takes or refuses everything, and what goes down for leaves, which do so
// too.
//
// Values, without a link. docs/decisions/ has the note "Credits by link".

#include <cstddef>
#include <cstdint>

#include "wire/message.h"

namespace xylem::overlay {

/// In Hello and Welcome: this side counts and grants. Where one does not, data goes unasked, and
/// only kMaxQueueBytes bounds it.
constexpr std::uint64_t kFeatureCredits = 1;

/// Before the first Credit comes.
constexpr std::uint64_t kFirstCredit = 64u << 10;
/// What a receiver lets be under way: enough for a fast neighbour while this process waits its turn
/// on a busy processor, and little enough for one with many children.
constexpr std::uint64_t kCreditWindow = 256u << 10;

/// Packets and multicasts.
bool is_data(const wire::Message& message);

/// The sending side.
class SendCredit {
 public:
  /// `counted`: both sides have kFeatureCredits.
  explicit SendCredit(bool counted) : counted_(counted) {}
  bool has_room() const noexcept { return !counted_ || sent_ < granted_; }
  void add_sent(std::size_t bytes) noexcept { sent_ += bytes; }
  /// As the peer tells it. A smaller total than before is not an error: it says nothing new.
  void set_granted(std::uint64_t total) noexcept;

 private:
  bool counted_;
  std::uint64_t sent_ = 0;
  std::uint64_t granted_ = kFirstCredit;
};

/// The receiving side.
class ReceiveCredit {
 public:
  explicit ReceiveCredit(bool counted) : counted_(counted) {}
  /// False when the peer had none left: it breaks the rule, and the link must end.
  bool add_received(std::size_t bytes) noexcept;
  /// What came since the last grant() is worth a message.
  bool is_due() const noexcept;
  /// All that came is taken. The total to be told.
  std::uint64_t grant() noexcept;

 private:
  bool counted_;
  std::uint64_t received_ = 0;
  std::uint64_t granted_ = kFirstCredit;
};

}  // namespace xylem::overlay
