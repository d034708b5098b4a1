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

/// Limits for peers that have not proved the key. With wire::kMaxHelloBytes they bound the cost of
/// unknown peers: this many connections, each with one small frame and OpenSSL's state.
constexpr std::size_t kMaxUnproved = 512;
constexpr Nanos kProofDeadline = 5 * kSecond;

/// While more than this waits on the upward link, children are granted nothing (overlay/credits.h).
constexpr std::size_t kUpwardHighWater = 1u << 20;
/// While more than this waits on the link to any child, the parent is granted nothing.
constexpr std::size_t kDownwardHighWater = 1u << 20;

/// Maximum size of the data that waits on a link, plus one frame, whatever peers do. Further data
/// is dropped: leaves have it in their journals.
constexpr std::size_t kMaxQueueBytes = 64u << 20;

struct RuntimeOptions {
  std::string run;  ///< Run id; a hello must name it.
  Key key{};
  /// TLS over TCP. Both sides must agree, else they refuse each other with a sentence. Unix sockets
  /// never use it: both ends are processes of one user on one host, and each end checks that first.
  bool tls = true;
  /// A Unix path is tried if its host key is this one or empty (wire::Address).
  std::string host_key;
  NodeId node = wire::kNoNode;            ///< Sent in Welcome.
  Nanos proof_deadline = kProofDeadline;  ///< Shorter in tests.
  bool is_root = false;                   ///< The front end: its clock is the run's.
  /// Notices on this board and notices from children are sent up when there is an upward link; the
  /// Node never sees a notice. nullptr: the Node gets notices as messages, as in the front end.
  /// Borrowed.
  overlay::NoticeBoard* notices = nullptr;
  /// Listening sockets, TCP or Unix, already bound. Network::addresses() lists them.
  std::vector<UniqueFd> listening;
  /// Numeric addresses at which peers reach sockets that are bound to all addresses.
  std::vector<std::string> reachable_hosts;
};

/// The event loop as an object, for programs that also do other work. The thread in run() or
/// run_until() calls the Node. The caller makes sure that only one thread is in them at a time.
class EventLoop {
 public:
  EventLoop(overlay::Node& node, RuntimeOptions options);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Runs until the Node calls Network::stop.
  void run();
  /// Runs until `done`, the deadline (monotonic) or the Node's stop. Calls `done` after each event.
  /// It handles some further ready events even if `done` holds from the start, so that a program
  /// that only sends still receives.
  void run_until(const std::function<bool()>& done, Nanos deadline);

  bool is_stopped() const;
  int exit_code() const;  ///< What the Node stopped with.

  /// Runs `work` on the loop, in the order of the calls. Any thread, while the loop exists. Work
  /// posted after the Node's stop may never run.
  void post(std::function<void()> work);
  /// The same at time `when` (monotonic).
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

/// A Unix socket that listens on the path; its file has mode 0600. First removes an existing file.
/// Fails with kInvalidArgument on a path that is too long for a socket (over 107 characters), and
/// as listen_tcp. The file stays when the socket is closed; the caller removes it.
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

/// The numeric addresses at which others reach a socket that listens on `host`: `host` itself, or,
/// for "0.0.0.0" and "::", those in `all` that it covers; loopback only if there are no others.
/// Never empty.
std::vector<std::string> reachable_addresses(const std::string& host,
                                             const std::vector<InterfaceAddress>& all);

/// The address to listen on for all of `all`: "::" if one of them, except loopback, is IPv6, else
/// "0.0.0.0".
std::string any_address(const std::vector<InterfaceAddress>& all);

/// The numeric address of this host from which the kernel's routes reach `host` (numeric); nothing
/// is sent. Fails with kUnavailable when there is no route, kInvalidArgument when `host` is not
/// numeric.
Result<std::string> address_towards(const std::string& host);

}  // namespace xylem::net
