#pragma once

// One connection to a neighbour, from the first byte to its end.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/frame_assembler.h"
#include "net/transport_internal.h"
#include "overlay/clock_filter.h"
#include "overlay/credits.h"
#include "overlay/node.h"
#include "overlay/shared_clock.h"
#include "wire/message.h"

namespace xylem::net {

/// A heartbeat may be late by at most this time. It may also be early by at most this time, if it
/// is sent together with another frame. So an idle process wakes up less often; waking up is most
/// of its cost.
constexpr Nanos kHeartbeatSlack = overlay::kHeartbeatInterval / 8;

/// The services that a link needs from its event loop.
class LinkHost {
 public:
  virtual ~LinkHost() = default;
  virtual void on_link_message(overlay::LinkId link, wire::Message message) = 0;
  /// Returns the offset between this process's clock and the front end's clock.
  virtual overlay::ClockEstimate root_clock() const = 0;
  /// Returns false while the data of this link cannot be forwarded, because the queue of another
  /// link is full. The link then grants no credit. The host calls grant() when there may be space
  /// again. `accepted` is true for the link of a child.
  virtual bool may_grant(bool accepted) = 0;
  /// A part of the queue has been written.
  virtual void on_link_written() = 0;
  /// The queue was empty and now has a frame. The host calls flush() when it has no further message
  /// to send.
  virtual void on_link_queued(overlay::LinkId link) = 0;
  /// A heartbeat went with other frames, and the timer of the next one was moved to a later time.
  virtual void on_heartbeat_moved() = 0;
};

/// Frames that wait to be written, as pieces of bytes. Small frames share a piece. A large frame
/// has several pieces, because its payload is not copied. The kernel may take any number of bytes,
/// so a frame may be cut anywhere. Not thread-safe.
class FrameQueue {
 public:
  void push(wire::PacketFrame frame);
  /// Puts the frame before all others. Returns false and does nothing if the first frame may
  /// already be partly written.
  bool push_first(wire::Bytes frame);
  bool empty() const noexcept { return parts_.empty(); }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Returns the waiting bytes. The pieces are valid until the queue changes.
  std::vector<Piece> pieces() const;
  /// Removes the first `bytes` bytes, because they have been written.
  void drop(std::size_t bytes);
  void clear();

 private:
  struct Part {
    wire::Bytes bytes;
    bool begins_frame = false;  // If false, the part continues the frame of the previous part.
  };
  void push(wire::Bytes bytes, bool begins_frame);

  std::vector<Part> parts_;
  std::size_t dropped_ = 0;  // Number of written bytes of the first part.
  std::size_t bytes_ = 0;
};

/// A link to a peer that has proved that it knows the key. Construct it, spawn run() once, then
/// call send() and close() as needed. When the link ends, run() returns the reason. No operation is
/// in progress after that.
///
/// Messages are sent in the order of send(), with these exceptions:
/// - A message that is not data (overlay/credits.h) overtakes data that waits for credit. A Control
///   message does not overtake, because it may close a stream whose multicasts wait.
/// - A heartbeat that is nearly due is sent before other frames.
///
/// The peer answers a heartbeat as soon as it reads the heartbeat, before the messages that follow.
/// All functions run on the event loop's thread.
class Link {
 public:
  /// `credits` is true if both sides have kFeatureCredits.
  Link(overlay::LinkId id, bool accepted, bool credits, const overlay::LinkClocks& clocks,
       std::unique_ptr<Transport> transport, wire::Bytes already_read,
       const asio::any_io_executor& executor, LinkHost& host);

  asio::awaitable<Error> run();

  /// Queues a message. If more than kMaxQueueBytes wait, data is dropped. The first such drop is
  /// logged. The leaf of a dropped packet sends the packet again. The leaves of a dropped multicast
  /// report the gap. If even messages that are not data do not fit, the link ends.
  void send(wire::Message message);
  /// Makes run() end when the queue is written, at the latest after 1 s.
  void close(const std::string& reason);
  overlay::LinkStatus status() const;
  /// Identity of the front end's clock as the peer's welcome has told it; 0 if unknown.
  std::uint64_t root_clock_id() const noexcept { return clocks_.root; }
  /// Sending time (monotonic) of the newest ping that the peer has answered; 0 before the first
  /// answer.
  Nanos answered_ping() const { return answered_ping_; }
  /// Bytes passed to send() that the kernel has not taken yet.
  std::size_t queue_bytes() const noexcept {
    return held_bytes_ + queued_.bytes() + writing_.bytes();
  }
  /// Grants credit for the data received since the last grant, if LinkHost::may_grant() returns
  /// true.
  void grant();
  /// Writes as much as the kernel takes without waiting; run() writes the rest.
  void flush();

 private:
  asio::awaitable<Error> read_loop();
  asio::awaitable<Error> write_loop();
  asio::awaitable<Error> heartbeat();
  Result<void> take_frames();
  Result<void> on_frame_message(wire::Message message, std::size_t frame_bytes);
  void queue(wire::PacketFrame frame);
  void release_held();
  void on_pong(const wire::Pong& pong);
  void note_ping(Nanos now, Nanos next);
  void take_ping_along();

  const overlay::LinkId id_;
  const bool accepted_;
  const overlay::LinkClocks clocks_;
  std::unique_ptr<Transport> transport_;
  LinkHost& host_;

  FrameAssembler assembler_;
  struct Held {
    wire::PacketFrame frame;
    bool is_data = false;
  };
  overlay::SendCredit send_credit_;
  overlay::ReceiveCredit receive_credit_;
  std::deque<Held> held_;  // Frames that wait for credit, or that wait behind these.
  std::size_t held_bytes_ = 0;
  bool told_full_ = false;
  FrameQueue queued_;   // Frames not yet passed to the kernel.
  FrameQueue writing_;  // Frames that are being written.
  // Used as a condition variable. It is cancelled when flush() leaves bytes and when the link
  // closes.
  asio::steady_timer writable_;
  asio::steady_timer beat_;
  Nanos last_heard_ = 0;
  Nanos last_ping_ = 0;
  // Time at which the next ping is sent at the latest.
  Nanos next_ping_ = 0;
  Nanos answered_ping_ = 0;
  std::optional<std::string> closing_;
  Nanos close_deadline_ = 0;

  std::uint64_t sent_bytes_ = 0;
  std::uint64_t sent_messages_ = 0;
  std::uint64_t unknown_messages_ = 0;
  overlay::ClockFilter clock_;
  Nanos root_offset_ns_ = 0;  // The latest offset that the parent has sent.
  // Maximum error of `root_offset_ns_`. It is negative if the parent does not know the offset.
  Nanos root_error_ns_ = -1;
};

}  // namespace xylem::net
