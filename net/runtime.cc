#include "net/runtime.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <limits>
#include <map>
#include <optional>

#include "base/log.h"
#include "net/connections_internal.h"
#include "net/link_internal.h"
#include "net/spawn_internal.h"

namespace xylem::net {
namespace {

using boost::system::error_code;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr Nanos kNever = std::numeric_limits<Nanos>::max();
constexpr Nanos kStopGrace = 1 * kSecond;
constexpr int kMaxAtOnce = 64;
// A wake-up costs about as much as changing the system's timer ten times. A timer that is moved on
// again and again is changed ten times a second at most.
constexpr Nanos kWorthArming = 100 * kMillisecond;

}  // namespace

class EventLoop::Loop final : public overlay::Network, private LinkHost, private ConnectionHost {
 public:
  Loop(overlay::Node& node, RuntimeOptions options)
      : work_(context_.get_executor()),
        node_(node),
        options_(std::move(options)),
        connections_(context_, options_, *this),
        timer_(context_),
        stopping_(context_) {}

  ~Loop() override {
    // The owners close the watched descriptors.
    for (auto& [fd, descriptor] : watched_) descriptor.release();
    if (options_.notices != nullptr) options_.notices->set_wake({});
  }

  void start() {
    if (std::exchange(started_, true)) return;
    connections_.listen(std::move(options_.listening));
    if (options_.notices != nullptr) {
      options_.notices->set_wake([this] { asio::post(context_, [this] { send_notices(); }); });
    }
    asio::post(context_, [this] { node_.on_start(*this, monotonic_now()); });
  }

  void run() {
    start();
    context_.run();
  }

  void run_until(const std::function<bool()>& done, Nanos deadline) {
    start();
    const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline)};
    while (!done() && !context_.stopped()) {
      if (deadline <= monotonic_now() || context_.run_one_until(until) == 0) break;
    }
    // Sends what this event has queued. Then handles some of the other ready events, but not all:
    // under a flood of events this function would not return.
    flush_links();
    for (int ready = 0; ready < kMaxAtOnce && context_.poll_one() > 0; ++ready) {
    }
    flush_links();
  }

  bool is_stopped() const { return context_.stopped(); }
  int exit_code() const { return exit_code_; }
  void post(std::function<void()> work) { asio::post(context_, std::move(work)); }
  void post_at(Nanos when, std::function<void()> work) {
    post([this, when, work = std::move(work)]() mutable {
      spawn(context_.get_executor(), run_at(when, std::move(work)));
    });
  }

  void send(overlay::LinkId link, wire::Message message) override {
    const auto it = links_.find(link);
    if (it != links_.end()) it->second.link->send(std::move(message));
  }

  void connect(const wire::Parent& parent, const wire::Hello& hello) override {
    connections_.connect(parent, hello);
  }

  void close(overlay::LinkId link, const std::string& reason) override {
    if (const auto it = links_.find(link); it != links_.end()) it->second.link->close(reason);
  }

  overlay::LinkStatus status(overlay::LinkId link) const override {
    const auto it = links_.find(link);
    return it == links_.end() ? overlay::LinkStatus{} : it->second.link->status();
  }

  void set_upward(overlay::LinkId link) override {
    upward_ = link;
    on_link_written();  // The new way has room.
    send_notices();
  }

  void watch(int fd) override {
    if (watched_.contains(fd)) return;
    auto [it, added] = watched_.emplace(fd, asio::posix::stream_descriptor(context_, fd));
    wait_readable(fd, it->second);
  }

  void unwatch(int fd) override {
    const auto it = watched_.find(fd);
    if (it == watched_.end()) return;
    it->second.release();  // Cancels the wait; the descriptor stays its owner's.
    watched_.erase(it);
  }

  // Nodes set their timer in every call, nearly always to a slightly later time. In that case the
  // system's timer is not changed. When it fires, the new time is checked. If the new time is much
  // later, the system's timer is changed, since an idle process would wake up for nothing.
  void set_timer(Nanos when) override {
    timer_due_ = when;
    if (when <= monotonic_now()) {
      if (std::exchange(tick_is_posted_, true)) return;
      asio::post(context_, [this] {
        tick_is_posted_ = false;
        tick();
      });
    } else if (when < timer_armed_ || when - timer_armed_ > kWorthArming) {
      arm_timer(when);
    }
  }

  std::vector<wire::Address> addresses() const override { return connections_.addresses(); }
  std::uint64_t refused() const override { return connections_.refused(); }

  void stop(int exit_code) override {
    if (stop_called_) return;
    stop_called_ = true;
    exit_code_ = exit_code;
    work_.reset();
    connections_.tell_refusals();
    send_notices();
    for (auto& [id, entry] : links_) entry.link->close("the process ends");
    stopping_.expires_after(std::chrono::nanoseconds(kStopGrace));
    stopping_.async_wait([this](error_code) { context_.stop(); });
    stop_when_idle();
  }

 private:
  struct Entry {
    // Shared by this table and the coroutine that runs the link.
    std::shared_ptr<Link> link;
    bool accepted = false;
  };

  void arm_timer(Nanos when) {
    timer_armed_ = when;
    timer_.expires_after(std::chrono::nanoseconds(std::max<Nanos>(0, when - monotonic_now())));
    timer_.async_wait([this](error_code error) {
      if (error) return;
      timer_armed_ = kNever;
      tick();
    });
  }

  void tick() {
    const Nanos now = monotonic_now();
    if (timer_due_ > now) {
      if (timer_due_ < timer_armed_) arm_timer(timer_due_);
      return;
    }
    timer_due_ = kNever;
    node_.on_timer(now);
    send_notices();
  }

  asio::awaitable<void> run_at(Nanos when, std::function<void()> work) {
    asio::steady_timer timer(context_, std::chrono::nanoseconds(when - monotonic_now()));
    co_await timer.async_wait(kAwait);
    work();
  }

  // ---- LinkHost ----

  void on_link_message(overlay::LinkId link, wire::Message message) override {
    if (auto* notice = std::get_if<wire::Notice>(&message); notice && options_.notices) {
      pass_on(link, std::move(*notice));
    } else {
      node_.on_message(link, std::move(message), monotonic_now());
    }
  }

  overlay::ClockEstimate root_clock() const override {
    if (options_.is_root) return {.known = true};
    const overlay::LinkStatus up = upward_ ? status(*upward_) : overlay::LinkStatus{};
    return {.known = up.clock_known, .offset_ns = up.offset_ns, .error_ns = up.error_ns};
  }

  bool may_grant(bool accepted) override {
    const bool has_room = accepted ? upward_has_room() : children_have_room();
    withheld_ = withheld_ || !has_room;
    return has_room;
  }

  bool upward_has_room() const {
    const auto up = upward_ ? links_.find(*upward_) : links_.end();
    return up == links_.end() || up->second.link->queue_bytes() <= kUpwardHighWater;
  }

  bool children_have_room() const {
    return std::none_of(links_.begin(), links_.end(), [](const auto& link) {
      return link.second.accepted && link.second.link->queue_bytes() > kDownwardHighWater;
    });
  }

  // One turn of the loop queues messages for many links. They are sent at the end of the turn.
  void on_link_queued(overlay::LinkId link) override {
    queued_.push_back(link);
    if (queued_.size() > 1) return;
    asio::post(context_, [this] { flush_links(); });
  }

  // Asio does not change the system's timer when its earliest timer is cancelled, and would wake up
  // for nothing. It does so for a new earliest timer.
  void on_heartbeat_moved() override {
    if (timer_armed_ != kNever) arm_timer(timer_armed_);
  }

  void flush_links() {
    for (const overlay::LinkId id : std::exchange(queued_, {})) {
      if (const auto it = links_.find(id); it != links_.end()) it->second.link->flush();
    }
  }

  void on_link_written() override {
    if (!std::exchange(withheld_, false)) return;
    for (auto& [id, entry] : links_) entry.link->grant();
  }

  // ---- notices ----

  // Notices only go up. A notice from above would return to its sender.
  void pass_on(overlay::LinkId link, wire::Notice notice) {
    const auto it = links_.find(link);
    if (it == links_.end() || !it->second.accepted) return;
    options_.notices->pass_on(std::move(notice), monotonic_now());
    send_notices();
  }

  void send_notices() {
    if (options_.notices == nullptr || !upward_) return;
    const auto up = links_.find(*upward_);
    if (up == links_.end()) return;
    const Nanos now = monotonic_now();
    if (std::exchange(told_, *upward_) != *upward_) options_.notices->send_again();
    options_.notices->confirm(up->second.link->answered_ping());
    if (!options_.notices->due(now)) return;
    options_.notices->set_sending(true);
    for (wire::Notice& notice : options_.notices->take(now)) {
      up->second.link->send(wire::Message(std::move(notice)));
    }
    options_.notices->set_sending(false);
  }

  // ---- links ----

  std::uint64_t root_clock_id() const override {
    if (options_.is_root) return options_.clock;
    const auto up = upward_ ? links_.find(*upward_) : links_.end();
    return up == links_.end() ? 0 : up->second.link->root_clock_id();
  }

  void on_connect_failed(NodeId node, const Error& why) override {
    node_.on_connect_failed(node, why, monotonic_now());
  }

  void on_connected(const overlay::Peer& peer, std::uint64_t features,
                    std::unique_ptr<Transport> transport, wire::Bytes already_read) override {
    if (stop_called_) return;
    const overlay::LinkId id{++last_link_};
    const overlay::LinkClocks clocks{options_.clock, peer.clock, peer.root_clock};
    auto link = std::make_shared<Link>(
        id, peer.accepted, (features & overlay::kFeatureCredits) != 0, clocks, std::move(transport),
        std::move(already_read), context_.get_executor(), static_cast<LinkHost&>(*this));
    links_.emplace(id, Entry{link, peer.accepted});
    node_.on_link_up(id, peer, monotonic_now());
    spawn(context_.get_executor(), run_link(id, std::move(link)));
  }

  asio::awaitable<void> run_link(overlay::LinkId id, std::shared_ptr<Link> link) {
    const Error why = co_await link->run();
    links_.erase(id);
    if (upward_ == id) upward_.reset();
    node_.on_link_down(id, why, monotonic_now());
    on_link_written();  // It holds up nobody any more.
    stop_when_idle();
  }

  void stop_when_idle() {
    if (stop_called_ && links_.empty()) context_.stop();
  }

  void wait_readable(int fd, asio::posix::stream_descriptor& descriptor) {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read, [this, fd](error_code error) {
      if (error) return;
      node_.on_readable(fd, monotonic_now());
      if (const auto it = watched_.find(fd); it != watched_.end()) wait_readable(fd, it->second);
    });
  }

  asio::io_context context_{1};
  // Keeps the loop running while there is nothing to do.
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  overlay::Node& node_;
  RuntimeOptions options_;
  Connections connections_;
  asio::steady_timer timer_;
  Nanos timer_due_ = kNever;    // As the node asked for last.
  Nanos timer_armed_ = kNever;  // When timer_ fires; never later than timer_due_.
  bool tick_is_posted_ = false;
  asio::steady_timer stopping_;
  std::map<overlay::LinkId, Entry> links_;
  std::map<int, asio::posix::stream_descriptor> watched_;
  std::optional<overlay::LinkId> upward_;
  std::optional<overlay::LinkId> told_;  // Where notices went last.
  std::uint64_t last_link_ = 0;
  std::vector<overlay::LinkId> queued_;  // Links that have something to write.
  bool withheld_ = false;                // A link was granted nothing, for want of room.
  bool stop_called_ = false;
  bool started_ = false;
  int exit_code_ = 0;
};

EventLoop::EventLoop(overlay::Node& node, RuntimeOptions options)
    : loop_(std::make_unique<Loop>(node, std::move(options))) {}
EventLoop::~EventLoop() = default;
void EventLoop::run() { loop_->run(); }
void EventLoop::run_until(const std::function<bool()>& done, Nanos deadline) {
  loop_->run_until(done, deadline);
}
bool EventLoop::is_stopped() const { return loop_->is_stopped(); }
int EventLoop::exit_code() const { return loop_->exit_code(); }
void EventLoop::post(std::function<void()> work) { loop_->post(std::move(work)); }
void EventLoop::post_at(Nanos when, std::function<void()> work) {
  loop_->post_at(when, std::move(work));
}

int run_node(overlay::Node& node, RuntimeOptions options) {
  EventLoop loop(node, std::move(options));
  loop.run();
  return loop.exit_code();
}

}  // namespace xylem::net
