#pragma once

// Flow control of a link: the sender sends only as many bytes as the receiver has granted.
//
// Only packets and multicasts count as data. Their size is the size of their frames. All other
// messages, for example acknowledgements and heartbeats, are small or rare, and do not wait for
// credit. One exception: a Control waits until earlier data is sent. So a link stays alive while
// its data waits, and the tree can be repaired while the store is blocked.
//
//   A link starts with a credit of kFirstCredit bytes.
//   The receiver sends totals: granted = bytes received so far + kCreditWindow.
//   The sender may send data while sent < granted. The last frame may exceed the credit.
//
// A node forwards data. Therefore it grants credit to its children only while the queue to its
// parent is short. It grants credit to its parent only while the queues to all children are short.
// In the end the producer of the data waits: a leaf keeps data in its journal, or a tool waits in a
// multicast.
//
// There is no circular wait. Upward data waits only for the root, and downward data only for
// leaves. The root and the leaves never wait: they accept or refuse data immediately.
//
// The classes are values and do not touch a link. docs/decisions/0013-credits-by-link.md has the
// reasons for this design.

#include <cstddef>
#include <cstdint>

#include "wire/message.h"

namespace xylem::overlay {

/// Feature bit in Hello and Welcome: the sender counts bytes and grants credit. If one side does
/// not have this feature, data is sent without credit, and only kMaxQueueBytes limits the data that
/// waits.
constexpr std::uint64_t kFeatureCredits = 1;

/// The credit before the first Credit message.
constexpr std::uint64_t kFirstCredit = 64u << 10;
/// The receiver grants at most this many bytes more than it has received. The last frame may exceed
/// the credit. The window is so large that a fast sender need not stop while the receiver waits for
/// a processor. It is small enough for a process with many children.
constexpr std::uint64_t kCreditWindow = 256u << 10;

/// Returns true for packets and multicasts.
bool is_data(const wire::Message& message);

/// The sending side. Not thread-safe.
class SendCredit {
 public:
  /// `counted` is true if both sides have kFeatureCredits.
  explicit SendCredit(bool counted) : counted_(counted) {}
  bool has_room() const noexcept { return !counted_ || sent_ < granted_; }
  void add_sent(std::size_t bytes) noexcept { sent_ += bytes; }
  /// Sets the total that the peer granted. A smaller total than before is ignored; it is not an
  /// error.
  void set_granted(std::uint64_t total) noexcept;

 private:
  bool counted_;
  std::uint64_t sent_ = 0;
  std::uint64_t granted_ = kFirstCredit;
};

/// The receiving side. Not thread-safe.
class ReceiveCredit {
 public:
  explicit ReceiveCredit(bool counted) : counted_(counted) {}
  /// Returns false if the peer had no credit left. The peer has then broken the protocol, and the
  /// caller must close the link.
  bool add_received(std::size_t bytes) noexcept;
  /// Returns true if a Credit should be sent: at the start of the link, and when a quarter of the
  /// window has arrived since the last grant().
  bool is_due() const noexcept;
  /// Marks all received bytes as taken. Returns the total to grant.
  std::uint64_t grant() noexcept;

 private:
  bool counted_;
  std::uint64_t received_ = 0;
  std::uint64_t granted_ = kFirstCredit;
};

}  // namespace xylem::overlay
