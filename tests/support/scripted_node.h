#pragma once

// Nodes over real sockets, for tests. There is a Node with functions as its reactions, a root in a
// separate thread, and a client that connects to the root.

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <string>
#include <utility>

#include "net/runtime.h"

namespace xylem::net::testing {

// A test sets the reactions of this Node as functions.
struct ScriptedNode : overlay::Node {
  std::function<void(overlay::Network&)> start = [](overlay::Network&) {};
  std::function<void(overlay::Network&, overlay::LinkId, const overlay::Peer&)> up =
      [](overlay::Network&, overlay::LinkId, const overlay::Peer&) {};
  std::function<void(overlay::Network&, overlay::LinkId, wire::Message)> message =
      [](overlay::Network&, overlay::LinkId, wire::Message) {};
  std::function<void(overlay::Network&, overlay::LinkId, const Error&)> down =
      [](overlay::Network&, overlay::LinkId, const Error&) {};
  std::function<void(overlay::Network&, const Error&)> failed = [](overlay::Network& n,
                                                                   const Error&) { n.stop(1); };
  std::function<void(overlay::Network&)> timer = [](overlay::Network& n) { n.stop(99); };

  overlay::Network* network = nullptr;
  void on_start(overlay::Network& n, Nanos now) override {
    network = &n;
    n.set_timer(now + 20 * kSecond);  // A test that hangs ends with 99.
    start(n);
  }
  void on_link_up(overlay::LinkId l, const overlay::Peer& p, Nanos) override { up(*network, l, p); }
  void on_connect_failed(NodeId, const Error& e, Nanos) override { failed(*network, e); }
  void on_message(overlay::LinkId l, wire::Message m, Nanos) override {
    message(*network, l, std::move(m));
  }
  void on_link_down(overlay::LinkId l, const Error& e, Nanos) override { down(*network, l, e); }
  void on_timer(Nanos) override { timer(*network); }
  void on_readable(int, Nanos) override {}
};

// A root in a separate thread. It listens on loopback, or on a Unix socket if `unix_path` is set.
class Root {
 public:
  explicit Root(ScriptedNode& node, const Key& key, bool tls = true, std::string unix_path = {},
                Nanos proof_deadline = kProofDeadline)
      : node_(node) {
    RuntimeOptions options;
    options.proof_deadline = proof_deadline;
    options.run = "run1";
    options.key = key;
    options.tls = tls;
    options.node = kFrontEndNode;
    options.is_root = true;
    options.host_key = "here";
    auto socket = unix_path.empty() ? listen_tcp("127.0.0.1", 0) : listen_unix(unix_path);
    EXPECT_TRUE(socket) << socket.error().message;
    if (unix_path.empty()) {
      address.host = "127.0.0.1";
      address.port = *bound_port(*socket);
    } else {
      address.unix_path = unix_path;
      address.host_key = "here";
    }
    options.listening.push_back(*std::move(socket));
    done_ = std::async(std::launch::async, [this, moved = std::move(options)]() mutable {
      return run_node(node_, std::move(moved));
    });
  }
  int wait() { return done_.get(); }

  wire::Address address;

 private:
  ScriptedNode& node_;
  std::future<int> done_;
};

inline int run_client(ScriptedNode& node, const Key& key, const wire::Address& address,
                      bool tls = true) {
  RuntimeOptions options;
  options.run = "run1";
  options.key = key;
  options.tls = tls;
  options.host_key = "here";
  node.start = [address, inner = node.start](overlay::Network& network) {
    inner(network);
    wire::Hello hello;
    hello.role = wire::Role::kBackEnd;
    hello.level = 3;
    network.connect({kFrontEndNode, {address}}, hello);
  };
  return run_node(node, std::move(options));
}

}  // namespace xylem::net::testing
