#pragma once

// Flow control of a link: the receiver grants bytes, and the sender stays within them.
//
// Only data counts (packets and multicasts), by the bytes of their frames. Other messages (control,
// acknowledgements, heartbeats, reports) are small or rare and never wait. So a link whose data
// waits stays alive, and the tree can be repaired and shut down while the store is blocked.
//
//   A link starts with a credit of kFirstCredit bytes.
//   The receiver sends totals: granted = taken + kCreditWindow.
//   The sender may send data while sent < granted. The last frame may exceed the credit.
//
// A node forwards data, so it grants credit to its children only while the queue of its own upward
// link is short, and to its parent only while no child is slow. In the end the producer of the data
// waits: a leaf keeps the data in its journal, or a tool's multicast waits. There is no circular
// wait: upward data waits only for the root, downward data only for leaves, and both accept or
// refuse all data.
//
// The classes are values and do not touch a link. The reasons:
// docs/decisions/0013-credits-by-link.md.

#include <cstddef>
#include <cstdint>

#include "wire/message.h"

namespace xylem::overlay {

/// Feature bit in Hello and Welcome: this side counts bytes and grants credit. If one side does
/// not, data is sent without credit, and only kMaxQueueBytes limits it.
constexpr std::uint64_t kFeatureCredits = 1;

/// The credit before the first Credit message.
constexpr std::uint64_t kFirstCredit = 64u << 10;
/// Bytes of data that a receiver allows in flight. This is enough for a fast neighbour while this
/// process waits for a busy processor, and small enough for a process with many children.
constexpr std::uint64_t kCreditWindow = 256u << 10;

/// Packets and multicasts.
bool is_data(const wire::Message& message);

/// The sending side.
class SendCredit {
 public:
  /// `counted` is true if both sides have kFeatureCredits.
  explicit SendCredit(bool counted) : counted_(counted) {}
  bool has_room() const noexcept { return !counted_ || sent_ < granted_; }
  void add_sent(std::size_t bytes) noexcept { sent_ += bytes; }
  /// Sets the total that the peer granted. A smaller total than before is ignored and is not an
  /// error.
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
  /// Returns false if the peer had no credit left. This breaks the protocol, and the link must be
  /// closed.
  bool add_received(std::size_t bytes) noexcept;
  /// True if enough bytes have arrived since the last grant() to send a Credit.
  bool is_due() const noexcept;
  /// Marks all received bytes as taken. Returns the total to grant.
  std::uint64_t grant() noexcept;

 private:
  bool counted_;
  std::uint64_t received_ = 0;
  std::uint64_t granted_ = kFirstCredit;
};

}  // namespace xylem::overlay
