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
#include "wire/message.h"

namespace xylem::net {

/// A heartbeat may be so much earlier, when something is written anyway, and so much later: waking
/// up is most of what an idle process costs.
constexpr Nanos kHeartbeatSlack = overlay::kHeartbeatInterval / 8;

/// What a link asks of the loop it lives in.
class LinkHost {
 public:
  virtual ~LinkHost() = default;
  virtual void on_link_message(overlay::LinkId link, wire::Message message) = 0;
  /// Where this process's clock stands to the front end's; known = false when it is not known yet.
  virtual overlay::ClockEstimate root_clock() const = 0;
  /// False while what this link brings finds no room on the way on: then nothing is granted. The
  /// host calls grant() when that may have changed.
  virtual bool may_grant(bool accepted) = 0;
  /// Something of the queue is written.
  virtual void on_link_written() = 0;
  /// The queue was empty. The host calls flush() when all is said that is to be said now.
  virtual void on_link_queued(overlay::LinkId link) = 0;
};

/// Frames that wait to be written. Small ones share a piece, a large one's payload stays where it
/// is: such a frame is several pieces, and may be cut between them as well as within.
class FrameQueue {
 public:
  void push(wire::PacketFrame frame);
  /// Before all others; false, and nothing is done, when the first may be partly written.
  bool push_first(wire::Bytes frame);
  bool empty() const noexcept { return parts_.empty(); }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Valid until the queue changes.
  std::vector<Piece> pieces() const;
  /// The first `bytes` of pieces() are written.
  void drop(std::size_t bytes);
  void clear();

 private:
  struct Part {
    wire::Bytes bytes;
    bool begins_frame = false;  // Or it goes on with that of the part before.
  };
  void push(wire::Bytes bytes, bool begins_frame);

  std::vector<Part> parts_;
  std::size_t dropped_ = 0;  // Of the first part.
  std::size_t bytes_ = 0;
};

/// A proved link. Order: construct, run() once (spawned), then send and close at will. run() ends
/// when the link ends, whatever the reason, and says why; nothing is in flight after it.
///
/// Messages go in the order of send(), but for those that are no data (overlay/credits.h), which
/// pass data that waits for credit. Control does not: it may close a stream whose multicasts wait.
/// A heartbeat that is nearly due goes before what is written, and is answered at once, so that
/// what else there is to do does not count as the way's time.
class Link {
 public:
  /// `credits`: both sides have kFeatureCredits.
  Link(overlay::LinkId id, bool accepted, bool credits, std::unique_ptr<Transport> transport,
       wire::Bytes already_read, const asio::any_io_executor& executor, LinkHost& host);

  asio::awaitable<Error> run();

  /// Beyond kMaxQueueBytes data is dropped, with a line in the log: a packet's leaf sends it again,
  /// a multicast's leaves tell of the gap. A peer that does not even take the rest is lost.
  void send(wire::Message message);
  /// Ends run() once the queue is written, or 1 s from now.
  void close(const std::string& reason);
  overlay::LinkStatus status() const;
  /// When the newest ping was sent that the peer has answered (monotonic); 0: none yet.
  Nanos answered_ping() const { return answered_ping_; }
  /// Handed to send(), not yet taken by the kernel.
  std::size_t queue_bytes() const noexcept {
    return held_bytes_ + queued_.bytes() + writing_.bytes();
  }
  /// Grants what has come since the last time, if the host agrees.
  void grant();
  /// Writes what the kernel takes at once; run() sees to the rest.
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
  std::unique_ptr<Transport> transport_;
  LinkHost& host_;

  FrameAssembler assembler_;
  struct Held {
    wire::PacketFrame frame;
    bool is_data = false;
  };
  overlay::SendCredit send_credit_;
  overlay::ReceiveCredit receive_credit_;
  std::deque<Held> held_;  // Waits for credit, or behind what does.
  std::size_t held_bytes_ = 0;
  bool told_full_ = false;
  FrameQueue queued_;            // Frames not yet handed to the kernel ...
  FrameQueue writing_;           // ... and those that are being written.
  asio::steady_timer writable_;  // Used as a condition: flush() has left something, or closing.
  asio::steady_timer beat_;
  Nanos last_heard_ = 0;
  Nanos last_ping_ = 0;
  Nanos next_ping_ = 0;  // Then by itself, if nothing is written before.
  Nanos answered_ping_ = 0;
  std::optional<std::string> closing_;
  Nanos close_deadline_ = 0;

  std::uint64_t sent_bytes_ = 0;
  std::uint64_t sent_messages_ = 0;
  std::uint64_t unknown_messages_ = 0;
  overlay::ClockFilter clock_;
  Nanos root_offset_ns_ = 0;  // As the parent last told.
  Nanos root_error_ns_ = -1;  // Negative: the parent does not know it.
};

}  // namespace xylem::net
