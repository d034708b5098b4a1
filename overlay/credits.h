#pragma once

// Flow control of a link: the receiver grants bytes, and the sender stays within them.
//
// Only data counts (packets and multicasts), by the bytes of their frames. Other messages (control,
// acknowledgements, heartbeats, reports) are small or rare and never wait. So a link whose data
// waits stays alive, and the tree can be healed and shut down while the store is blocked.
//
//   a link begins with kFirstCredit;  the receiver tells totals: granted = taken + kCreditWindow
//   data may go while  sent < granted;  so the last frame may exceed it: by one frame, no more
//
// A node passes data on, so it grants its children credit only while its own upward link has room,
// and its parent only while none of its children is slow. In the end the producer of the data
// waits: a leaf, whose journal holds it, or a tool's multicast. There is no circular wait: upward
// data waits only for the root, downward data only for leaves, and both take or refuse everything.
//
// The classes are values and do not touch a link. The reasons:
// docs/decisions/0013-credits-by-link.md.

#include <cstddef>
#include <cstdint>

#include "wire/message.h"

namespace xylem::overlay {

/// Feature bit in Hello and Welcome: this side counts and grants. If one side does not, data is
/// sent without credit, and only kMaxQueueBytes limits it.
constexpr std::uint64_t kFeatureCredits = 1;

/// The credit before the first Credit message.
constexpr std::uint64_t kFirstCredit = 64u << 10;
/// Data that a receiver allows in flight: enough for a fast neighbour while this process waits for
/// a busy processor, and small enough for a process with many children.
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
  /// Takes the total that the peer granted. A smaller total than before is ignored; it is not an
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
  /// False when the peer had no credit left: it broke the rule, and the link must be closed.
  bool add_received(std::size_t bytes) noexcept;
  /// Enough has arrived since the last grant() to send a Credit.
  bool is_due() const noexcept;
  /// Marks everything received as taken. Returns the total to grant.
  std::uint64_t grant() noexcept;

 private:
  bool counted_;
  std::uint64_t received_ = 0;
  std::uint64_t granted_ = kFirstCredit;
};

}  // namespace xylem::overlay
