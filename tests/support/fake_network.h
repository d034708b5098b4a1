#pragma once

// A Network without sockets. It notes the requests of a Node, and the test plays all other
// processes.
//
//   FakeNetwork network;
//   node.on_start(network, 0);
//   const auto link = network.link_up(node, parent_peer);   // answers the oldest connect
//   network.deliver(node, link, wire::Control{...});
//   network.advance(node, 2 * kSecond);                     // runs timers that are due on the way
//   for (auto& sent : network.take_sent()) ...

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "overlay/node.h"

namespace xylem::testing {

/// Has a manual clock and no threads. Serves one Node at a time.
class FakeNetwork final : public overlay::Network {
 public:
  struct Sent {
    overlay::LinkId link;
    wire::Message message;
  };
  struct Connect {
    wire::Parent parent;
    wire::Hello hello;
  };

  Nanos now = kSecond;
  std::deque<Connect> connects;                    ///< Requests that are not answered yet.
  std::map<overlay::LinkId, overlay::Peer> links;  ///< Links that are up.
  std::set<int> watched;
  std::optional<Nanos> timer;
  std::optional<overlay::LinkId> upward;
  std::optional<int> stopped;  ///< The exit code, if the Node has called stop().
  std::vector<wire::Address> listening;
  std::uint64_t turned_away = 0;
  /// The result of status() for every link.
  overlay::LinkStatus link_status;
  /// Called at each send(), connect() and close(), before the call has an effect. Tests let the
  /// Node die here.
  std::function<void()> on_request = [] {};

  // ---- Network ----
  void send(overlay::LinkId link, wire::Message message) override {
    on_request();
    if (links.contains(link)) sent_.push_back({link, std::move(message)});
  }
  void connect(const wire::Parent& parent, const wire::Hello& hello) override {
    on_request();
    connects.push_back({parent, hello});
  }
  void close(overlay::LinkId link, const std::string& reason) override {
    on_request();
    if (links.contains(link)) closing_.emplace_back(link, reason);
  }
  overlay::LinkStatus status(overlay::LinkId link) const override {
    return links.contains(link) ? link_status : overlay::LinkStatus{};
  }
  void set_upward(overlay::LinkId link) override { upward = link; }
  void watch(int fd) override { watched.insert(fd); }
  void unwatch(int fd) override { watched.erase(fd); }
  void set_timer(Nanos when) override { timer = when; }
  std::vector<wire::Address> addresses() const override { return listening; }
  std::uint64_t refused() const override { return turned_away; }
  void stop(int exit_code) override {
    if (!stopped) stopped = exit_code;
  }

  // ---- the test's side ----

  /// Answers the oldest connect with a link to the requested node.
  overlay::LinkId link_up(overlay::Node& node) {
    const Connect asked = std::move(connects.front());
    connects.pop_front();
    overlay::Peer peer;
    peer.node = asked.parent.node;
    peer.role = raw(peer.node) == 0 ? wire::Role::kFrontEnd : wire::Role::kCommProcess;
    return link_up(node, peer);
  }
  overlay::LinkId link_up(overlay::Node& node, const overlay::Peer& peer) {
    const overlay::LinkId link{++last_link_};
    links[link] = peer;
    node.on_link_up(link, peer, now);
    settle(node);
    return link;
  }
  /// Answers the oldest connect with a failure.
  void refuse_connect(overlay::Node& node,
                      const Error& why = {Code::kUnavailable, "nobody listens"}) {
    const NodeId asked = connects.front().parent.node;
    connects.pop_front();
    node.on_connect_failed(asked, why, now);
    settle(node);
  }
  void link_down(overlay::Node& node, overlay::LinkId link) {
    if (links.erase(link) == 0) return;
    node.on_link_down(link, Error{Code::kUnavailable, "connection reset"}, now);
    settle(node);
  }
  /// Delivers a message, then runs the timer if it is due.
  void deliver(overlay::Node& node, overlay::LinkId link, wire::Message message) {
    if (!links.contains(link)) return;
    node.on_message(link, std::move(message), now);
    settle(node);
    advance(node, 0);
  }
  void readable(overlay::Node& node, int fd) {
    if (watched.contains(fd)) node.on_readable(fd, now);
    settle(node);
  }
  /// Lets time pass, running each timer when it is due.
  void advance(overlay::Node& node, Nanos duration) {
    const Nanos until = now + duration;
    while (timer && *timer <= until && !stopped) {
      now = std::max(now, *timer);
      timer.reset();
      node.on_timer(now);
      settle(node);
    }
    now = std::max(now, until);
  }
  /// Everything sent since the last call, in order.
  std::vector<Sent> take_sent() {
    std::vector<Sent> taken(std::make_move_iterator(sent_.begin()),
                            std::make_move_iterator(sent_.end()));
    sent_.clear();
    return taken;
  }
  /// Returns the sent messages of one type; all others are dropped.
  template <typename T>
  std::vector<T> take_sent_of() {
    std::vector<T> found;
    for (Sent& sent : take_sent()) {
      if (auto* message = std::get_if<T>(&sent.message)) found.push_back(std::move(*message));
    }
    return found;
  }
  /// Removes all links and requests of the Node, because its process is gone.
  void forget_node() {
    connects.clear();
    links.clear();
    watched.clear();
    timer.reset();
    upward.reset();
    stopped.reset();
    sent_.clear();
    closing_.clear();
  }

 private:
  // Links that the Node closed go down after the call that closed them.
  void settle(overlay::Node& node) {
    while (!closing_.empty()) {
      const auto [link, reason] = closing_.front();
      closing_.pop_front();
      if (links.erase(link) != 0) node.on_link_down(link, Error{Code::kUnavailable, reason}, now);
    }
  }

  std::uint64_t last_link_ = 0;
  std::deque<Sent> sent_;
  std::deque<std::pair<overlay::LinkId, std::string>> closing_;
};

}  // namespace xylem::testing
