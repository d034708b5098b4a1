#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/log.h"
#include "net/link_internal.h"
#include "net/runtime.h"

namespace xylem::net {
namespace {

using namespace asio::experimental::awaitable_operators;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// Frames up to this size are copied into a shared piece. The copy costs less than a system call.
constexpr std::size_t kPieceBytes = 16u << 10;
constexpr Nanos kCloseGrace = 1 * kSecond;
// The first pings follow each other quickly, so that clocks are known before the first window.
constexpr int kQuickPings = 5;
constexpr Nanos kQuickPingInterval = 5 * kMillisecond;

std::chrono::nanoseconds in(Nanos delay) {
  return std::chrono::nanoseconds(std::max<Nanos>(delay, 0));
}

}  // namespace

void FrameQueue::push(wire::PacketFrame frame) {
  bytes_ += frame.size();
  push(std::move(frame.head), true);
  if (!frame.payload.empty()) push(std::move(frame.payload), false);
  if (frame.padding > 0) push(wire::Bytes(frame.padding), false);
}

bool FrameQueue::push_first(wire::Bytes frame) {
  if (dropped_ != 0 || (!parts_.empty() && !parts_.front().begins_frame)) return false;
  bytes_ += frame.size();
  parts_.insert(parts_.begin(), Part{std::move(frame), true});
  return true;
}

void FrameQueue::push(wire::Bytes bytes, bool begins_frame) {
  if (!parts_.empty() && parts_.back().bytes.size() + bytes.size() <= kPieceBytes) {
    parts_.back().bytes.insert(parts_.back().bytes.end(), bytes.begin(), bytes.end());
  } else {
    parts_.push_back(Part{std::move(bytes), begins_frame});
  }
}

std::vector<Piece> FrameQueue::pieces() const {
  std::vector<Piece> pieces;
  pieces.reserve(parts_.size());
  for (const Part& part : parts_) pieces.emplace_back(part.bytes);
  if (!pieces.empty()) pieces.front() = pieces.front().subspan(dropped_);
  return pieces;
}

void FrameQueue::drop(std::size_t bytes) {
  bytes_ -= bytes;
  dropped_ += bytes;
  auto whole = parts_.begin();
  for (; whole != parts_.end() && dropped_ >= whole->bytes.size(); ++whole) {
    dropped_ -= whole->bytes.size();
  }
  parts_.erase(parts_.begin(), whole);
}

void FrameQueue::clear() {
  parts_.clear();
  dropped_ = 0;
  bytes_ = 0;
}

Link::Link(overlay::LinkId id, bool accepted, bool credits, const overlay::LinkClocks& clocks,
           std::unique_ptr<Transport> transport, wire::Bytes already_read,
           const asio::any_io_executor& executor, LinkHost& host)
    : id_(id),
      accepted_(accepted),
      clocks_(clocks),
      transport_(std::move(transport)),
      host_(host),
      assembler_(std::move(already_read)),
      send_credit_(credits),
      receive_credit_(credits),
      writable_(executor),
      beat_(executor),
      last_heard_(monotonic_now()) {}

asio::awaitable<Error> Link::run() {
  grant();
  auto ended = co_await (read_loop() || write_loop() || heartbeat());
  transport_->close();
  co_return std::visit([](Error& why) { return std::move(why); }, ended);
}

void Link::send(wire::Message message) {
  if (closing_) return;
  const bool is_data = overlay::is_data(message);
  if (queue_bytes() > kMaxQueueBytes && is_data) {
    if (!std::exchange(told_full_, true)) {
      log(Level::kWarn, "a link is full: its data is dropped, and sent again later",
          {{"queue_bytes", queue_bytes()}});
    }
    return;
  }
  if (queued_.bytes() > kMaxQueueBytes) {
    close("it does not take what is sent to it");
    close_deadline_ = 0;
    return;
  }
  const bool keeps_its_place = is_data || std::holds_alternative<wire::Control>(message);
  wire::PacketFrame frame;
  if (auto* packet = std::get_if<wire::Packet>(&message)) {
    frame = wire::encode_in_pieces(std::move(*packet));
  } else {
    frame.head = wire::encode(message);
  }
  ++sent_messages_;
  const bool waits = !held_.empty() || (is_data && !send_credit_.has_room());
  if (keeps_its_place && waits) {
    held_bytes_ += frame.size();
    held_.push_back({std::move(frame), is_data});
    return;
  }
  if (is_data) send_credit_.add_sent(frame.size());
  queue(std::move(frame));
}

void Link::queue(wire::PacketFrame frame) {
  const bool was_empty = queued_.empty();
  queued_.push(std::move(frame));
  if (was_empty) host_.on_link_queued(id_);
}

void Link::flush() {
  if (!writing_.empty() || queued_.empty()) return;  // It goes on with what is queued.
  take_ping_along();
  const std::size_t taken = transport_->write_now(queued_.pieces());
  sent_bytes_ += taken;
  queued_.drop(taken);
  if (!queued_.empty() || closing_) writable_.cancel();
  if (taken > 0) host_.on_link_written();
}

void Link::release_held() {
  while (!held_.empty() && (!held_.front().is_data || send_credit_.has_room())) {
    Held next = std::move(held_.front());
    held_.pop_front();
    held_bytes_ -= next.frame.size();
    if (next.is_data) send_credit_.add_sent(next.frame.size());
    queue(std::move(next.frame));
  }
}

void Link::grant() {
  if (!receive_credit_.is_due() || !host_.may_grant(accepted_)) return;
  send(wire::Message(wire::Credit{receive_credit_.grant()}));
}

void Link::close(const std::string& reason) {
  if (closing_) return;
  closing_ = reason;
  close_deadline_ = monotonic_now() + kCloseGrace;
  writable_.cancel();
  beat_.cancel();
}

overlay::LinkStatus Link::status() const {
  const overlay::ClockEstimate estimate = overlay::root_estimate(
      clock_.estimate(monotonic_now()), clocks_, root_offset_ns_, root_error_ns_);
  overlay::LinkStatus status;
  status.transport = transport_->kind();
  status.queue_bytes = queue_bytes();
  status.sent_bytes = sent_bytes_;
  status.sent_messages = sent_messages_;
  status.round_trip_ns = estimate.round_trip_ns;
  status.clock_known = estimate.known;
  status.offset_ns = estimate.offset_ns;
  status.error_ns = estimate.error_ns;
  return status;
}

asio::awaitable<Error> Link::read_loop() {
  for (;;) {
    if (auto taken = take_frames(); !taken) co_return std::move(taken.error());
    auto size = co_await transport_->read_some(assembler_.room());
    if (!size) co_return std::move(size.error());
    assembler_.add(*size);
    last_heard_ = monotonic_now();
  }
}

Result<void> Link::take_frames() {
  for (;;) {
    auto frame = assembler_.next();
    if (!frame) return unexpected(std::move(frame.error()));
    if (!*frame) return {};
    auto taken = on_frame_message(std::move((*frame)->message), (*frame)->bytes);
    if (!taken) return taken;
  }
}

Result<void> Link::on_frame_message(wire::Message message, std::size_t frame_bytes) {
  if (const auto* ping = std::get_if<wire::Ping>(&message)) {
    const overlay::ClockEstimate root = host_.root_clock();
    wire::Pong pong;
    pong.ping_sent_ns = ping->sent_ns;
    pong.received_ns = monotonic_now();
    pong.root_offset_ns = root.offset_ns;
    pong.root_error_ns = root.known ? root.error_ns : -1;
    pong.sent_ns = monotonic_now();
    send(pong);
    flush();
  } else if (const auto* pong = std::get_if<wire::Pong>(&message)) {
    on_pong(*pong);
  } else if (const auto* credit = std::get_if<wire::Credit>(&message)) {
    send_credit_.set_granted(credit->granted);
    release_held();
  } else if (std::holds_alternative<wire::Unknown>(message)) {
    if (++unknown_messages_ == 1) log(Level::kDebug, "unknown message skipped", {{"link", id_}});
  } else {
    const bool is_data = overlay::is_data(message);
    if (is_data && !receive_credit_.add_received(frame_bytes)) {
      return unexpected(Code::kCorrupt, "it sends more than it was granted");
    }
    host_.on_link_message(id_, std::move(message));
    if (is_data) grant();
  }
  return {};
}

void Link::on_pong(const wire::Pong& pong) {
  // The peer says which ping it answers. This time cannot be in the future.
  answered_ping_ = std::max(answered_ping_, std::min(pong.ping_sent_ns, monotonic_now()));
  clock_.add(pong.ping_sent_ns, pong.received_ns, pong.sent_ns, monotonic_now());
  root_offset_ns_ = pong.root_offset_ns;
  root_error_ns_ = pong.root_error_ns;
}

asio::awaitable<Error> Link::write_loop() {
  for (;;) {
    while (queued_.empty()) {
      if (closing_ && held_.empty()) co_return Error{Code::kUnavailable, *closing_};
      writable_.expires_at(asio::steady_timer::time_point::max());
      co_await writable_.async_wait(kAwait);
      // If the whole link is cancelled, the loop must end here.
      if ((co_await asio::this_coro::cancellation_state).cancelled() !=
          asio::cancellation_type::none) {
        co_return Error{Code::kUnavailable, "cancelled"};
      }
    }
    std::swap(queued_, writing_);
    const std::vector<Piece> pieces = writing_.pieces();
    auto written = co_await transport_->write_all(pieces);
    if (!written) co_return std::move(written.error());
    sent_bytes_ += writing_.bytes();
    writing_.clear();
    host_.on_link_written();
  }
}

void Link::note_ping(Nanos now, Nanos next) {
  last_ping_ = now;
  next_ping_ = next;
}

void Link::take_ping_along() {
  // heartbeat() sends the first ping and the quick pings after it.
  if (closing_ || last_ping_ == 0) return;
  const Nanos now = monotonic_now();
  if (now < last_ping_ + overlay::kHeartbeatInterval - kHeartbeatSlack) return;
  if (!queued_.push_first(wire::encode(wire::Message(wire::Ping{now})))) return;
  ++sent_messages_;
  note_ping(now, now + overlay::kHeartbeatInterval + kHeartbeatSlack);
  beat_.cancel();
  host_.on_heartbeat_moved();
}

// Both sides send pings and detect a silent peer. From the pings, the connecting side learns the
// clock offset.
asio::awaitable<Error> Link::heartbeat() {
  int quick_pings = accepted_ ? 0 : kQuickPings - 1;
  for (;;) {
    const Nanos now = monotonic_now();
    if (closing_ && now >= close_deadline_) co_return Error{Code::kUnavailable, *closing_};
    if (now - last_heard_ > overlay::kSilenceLimit) {
      co_return Error{Code::kTimedOut, "silent for more than " +
                                           std::to_string(overlay::kSilenceLimit / kSecond) + " s"};
    }
    if (!closing_ && now >= next_ping_) {
      const bool quick = quick_pings-- > 0;
      note_ping(now,
                now + (quick ? kQuickPingInterval : overlay::kHeartbeatInterval + kHeartbeatSlack));
      send(wire::Message(wire::Ping{now}));
    }
    beat_.expires_after(in((closing_ ? close_deadline_ : next_ping_) - now));
    co_await beat_.async_wait(kAwait);
    if ((co_await asio::this_coro::cancellation_state).cancelled() !=
        asio::cancellation_type::none) {
      co_return Error{Code::kUnavailable, "cancelled"};
    }
  }
}

}  // namespace xylem::net
