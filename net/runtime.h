#pragma once

// The event loop that drives a Node over real links.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/key.h"
#include "overlay/node.h"
#include "overlay/notice_board.h"

namespace xylem::net {

/// Bounds before a peer has proved the key. Together with wire::kMaxHelloBytes they bound what
/// strangers can cost: so many connections, each with one small frame and OpenSSL's state.
constexpr std::size_t kMaxUnproved = 512;
constexpr Nanos kProofDeadline = 5 * kSecond;

/// While more than this waits on the upward link, children are granted nothing (overlay/credits.h).
constexpr std::size_t kUpwardHighWater = 1u << 20;
/// While more than this waits on the link to any child, the parent is granted nothing.
constexpr std::size_t kDownwardHighWater = 1u << 20;

/// More data than this, and a frame, never waits on a link, whatever peers do; what comes in
/// addition is dropped: leaves have it in their journals.
constexpr std::size_t kMaxQueueBytes = 64u << 20;

struct RuntimeOptions {
  std::string run;  ///< Run id; a hello must name it.
  Key key{};
  /// Over TCP. Both sides must agree, or they refuse each other with a sentence. Unix sockets never
  /// use it: both ends are processes of one user on one host, which each checks first of all.
  bool tls = true;
  /// A Unix path is tried when its host key is this one, or when it has none (wire::Address).
  std::string host_key;
  NodeId node = wire::kNoNode;            ///< Told in Welcome.
  Nanos proof_deadline = kProofDeadline;  ///< Shorter in tests.
  bool is_root = false;                   ///< The front end: its clock is the run's.
  /// What is posted there goes up as soon as there is an upward link, and what children send is
  /// passed on by way of it; the Node never sees a notice. None: the Node gets notices as other
  /// messages, as the front end does. Borrowed.
  overlay::NoticeBoard* notices = nullptr;
  /// Listening sockets, TCP or Unix, already bound. addresses() tells of them.
  std::vector<UniqueFd> listening;
  /// Numeric addresses under which peers reach sockets bound to any address.
  std::vector<std::string> reachable_hosts;
};

/// The event loop as an object, for programs that have a life beside it. The Node is called by
/// whichever thread is within run() or run_until(): one at a time, the caller's care.
class EventLoop {
 public:
  EventLoop(overlay::Node& node, RuntimeOptions options);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Until the Node calls Network::stop.
  void run();
  /// Until `done` or the deadline (monotonic) or the Node's stop; `done` is asked after each event.
  /// Of what else is ready some is handled then, also when `done` holds already, so that whoever
  /// only sends is heard and hears.
  void run_until(const std::function<bool()>& done, Nanos deadline);

  bool is_stopped() const;
  int exit_code() const;  ///< What the Node stopped with.

  /// Runs `work` on the loop, in the order of the calls. From any thread, while the loop lives;
  /// what is posted after the Node's stop may never run.
  void post(std::function<void()> work);
  /// The same at a time (monotonic).
  void post_at(Nanos when, std::function<void()> work);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

/// Runs until the Node calls Network::stop, and returns its exit code. Uses this thread only.
/// An exception that escapes a Node is a bug: it ends the program with a message.
int run_node(overlay::Node& node, RuntimeOptions options);

/// A TCP socket that listens on `host` (numeric; "0.0.0.0" for any of IPv4, "::" for any of both
/// families) and `port` (0: any).
/// Fails with kAlreadyExists when the port is in use, kInvalidArgument when the address is not one
/// of this host, with a sentence naming both.
Result<UniqueFd> listen_tcp(const std::string& host, std::uint16_t port);

/// A Unix socket that listens on the path; its file has mode 0600. Removes what stands there first.
/// Fails with kInvalidArgument on a path that is too long for a socket (107 characters), and as
/// listen_tcp. The file stays when the socket is closed: whoever made it removes it.
Result<UniqueFd> listen_unix(const std::string& path);

/// The port a TCP socket is bound to.
Result<std::uint16_t> bound_port(const UniqueFd& socket);

/// An interface of this host and its numeric address.
struct InterfaceAddress {
  std::string interface;
  std::string address;
  bool loopback = false;
};

/// Addresses of the interfaces that are up, IPv4 before IPv6, loopback last; link-local ones are
/// left out.
std::vector<InterfaceAddress> interface_addresses();

/// The numeric addresses under which others reach a socket that listens on `host`: `host` itself,
/// or, for "0.0.0.0" and "::", those in `all` that it takes; loopback only where there are no
/// others. Never empty.
std::vector<std::string> reachable_addresses(const std::string& host,
                                             const std::vector<InterfaceAddress>& all);

/// What listens on all of `all`: "::" where one of them, beside loopback, is of IPv6, else
/// "0.0.0.0".
std::string any_address(const std::vector<InterfaceAddress>& all);

/// The numeric address of this host from which `host` (numeric) is reached, by the kernel's routes;
/// nothing is sent. Fails with kUnavailable when no route leads there, kInvalidArgument when `host`
/// is not numeric.
Result<std::string> address_towards(const std::string& host);

}  // namespace xylem::net
